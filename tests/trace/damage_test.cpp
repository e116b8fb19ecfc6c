// SPDX-License-Identifier: Apache-2.0
// Files that are cut off or damaged, and files that are no traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/trace/reader.h"
#include "tests/policy/message_of.h"
#include "tests/report/scratch_folder.h"
#include "tests/trace/samples.h"

namespace uvmsim::trace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Returns several frames, each with whole records; `ends` receives their ends.
std::string frames(const Trace& trace, std::size_t per_frame, std::vector<std::size_t>& ends) {
  // The writer closes frames by size; names of that size make them close early.
  std::string out;
  TraceWriter writer(out, TraceFormat::kUvmt, trace.header);
  std::size_t size = 0;
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    writer.write(trace.records[i]);
    if (out.size() != size) {
      ends.push_back(i + 1);
      size = out.size();
    }
  }
  writer.finish();
  EXPECT_GE(ends.size(), trace.records.size() / per_frame / 2);
  return out;
}

Trace large_trace() {
  Trace trace{Header{}, {}};
  Random random(3);
  for (int i = 0; i < 40; ++i) {
    HostAccess access{1, {}, {}, 0};
    for (int k = 0; k < 10000; ++k) access.touches.emplace_back(random.below(4), AccessMode::kRead);
    trace.records.emplace_back(access);
  }
  return trace;
}

TEST(Damage, CutOffAtEveryByte) {
  const Trace trace{sample_header(), sample_records()};
  const std::string whole = encode(trace, TraceFormat::kUvmt);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string_view part = std::string_view(whole).substr(0, size);
    EXPECT_THROW(decode(part), InputError) << size;
    // The file has one frame, of which no record is whole.
    EXPECT_THROW(decode(part, true), InputError) << size;
  }
}

TEST(Damage, PartialYieldsTheWholeFrames) {
  const Trace trace = large_trace();
  std::vector<std::size_t> ends;
  const std::string whole = frames(trace, 20, ends);
  ASSERT_GE(ends.size(), 2u);
  std::vector<std::size_t> counts;
  for (std::size_t size = 0; size < whole.size(); size += 4001) {
    const std::string_view part = std::string_view(whole).substr(0, size);
    EXPECT_THROW(decode(part), InputError) << size;
    try {
      TraceReader reader(part, "cut.uvmt", {true});
      Record record;
      std::size_t records = 0;
      while (reader.next(record)) {
        EXPECT_TRUE(same(record, trace.records[records]));
        ++records;
      }
      EXPECT_TRUE(reader.truncated());
      EXPECT_THAT(reader.truncation(), HasSubstr("cut.uvmt: after " + std::to_string(records) + " records: frame "));
      counts.push_back(records);
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("cut.uvmt: ")) << size;  // the first frame is not whole
    }
  }
  EXPECT_TRUE(std::is_sorted(counts.begin(), counts.end()));
  EXPECT_EQ(std::vector<std::size_t>(counts.begin(), std::unique(counts.begin(), counts.end())),
            std::vector<std::size_t>(ends.begin(), ends.end()));
}

TEST(Damage, EndMarkMissing) {
  // The file is cut exactly between two frames, which only the missing end mark reveals.
  const Trace trace = large_trace();
  std::vector<std::size_t> ends;
  std::string part;
  {
    TraceWriter writer(part, TraceFormat::kUvmt, trace.header);
    for (const Record& record : trace.records) {
      writer.write(record);
      if (!part.empty()) break;
    }
  }
  EXPECT_THAT(message_of([&] { decode(part); }),
              AllOf(HasSubstr("t: after "), HasSubstr("the file ends after frame 1 without its end mark"),
                    HasSubstr("--partial loads what is whole")));
  EXPECT_GT(decode(part, true).records.size(), 0u);
}

TEST(Damage, FlippedBits) {
  const Trace trace{sample_header(), sample_records()};
  const std::string whole = encode(trace, TraceFormat::kUvmt);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = whole;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      try {
        // Some bits of a zstd frame have no effect; then the records are unchanged.
        const Trace found = decode(bad);
        ASSERT_EQ(found.records.size(), trace.records.size());
        for (std::size_t i = 0; i < found.records.size(); ++i) ASSERT_TRUE(same(found.records[i], trace.records[i]));
      } catch (const InputError&) {
      }
    }
  }
}

TEST(Damage, DamagedFrameInTheMiddle) {
  const Trace trace = large_trace();
  std::vector<std::size_t> ends;
  std::string bad = frames(trace, 20, ends);
  bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 0x55);
  EXPECT_THAT(message_of([&] { decode(bad); }), AllOf(HasSubstr("t: after "), HasSubstr("is damaged")));
  const std::size_t kept = decode(bad, true).records.size();
  EXPECT_GT(kept, 0u);
  EXPECT_LT(kept, trace.records.size());
}

TEST(Damage, SomethingAfterTheEnd) {
  const std::string whole = encode({sample_header(), sample_records()}, TraceFormat::kUvmt);
  EXPECT_THAT(message_of([&] { decode(whole + whole); }), HasSubstr("data after the end mark"));
  EXPECT_THAT(message_of([&] { decode(whole + "x"); }), HasSubstr("frame 2 is damaged"));
  EXPECT_EQ(decode(whole + "rubbish", true).records.size(), sample_records().size());
}

TEST(Damage, JsonLines) {
  const Trace trace{sample_header(), sample_records()};
  const std::string whole = encode(trace, TraceFormat::kJsonLines);
  // The cut is within the last line.
  const std::string_view part = std::string_view(whole).substr(0, whole.size() - 5);
  EXPECT_THAT(message_of([&] { decode(part); }), HasSubstr("the file ends within this line"));
  EXPECT_EQ(decode(part, true).records.size(), trace.records.size() - 1);
  // Only the last newline is missing.
  EXPECT_EQ(decode(std::string_view(whole).substr(0, whole.size() - 1)).records.size(), trace.records.size());
  // An error in a line in the middle is a mistake, not damage.
  std::string bad = whole;
  bad[bad.find("memcpy") + 20] = '\n';
  EXPECT_THROW(decode(bad, true), InputError);
}

TEST(Damage, CompressedJsonLines) {
  const std::string whole = compress(encode({sample_header(), sample_records()}, TraceFormat::kJsonLines));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(decode(std::string_view(whole).substr(0, size)), InputError) << size;
  }
}

TEST(Damage, NoTrace) {
  EXPECT_EQ(message_of([] { decode(""); }), "t: the file is empty");
  EXPECT_EQ(message_of([] { decode("hello"); }), "t: not a trace: neither a .uvmt file nor JSON lines");
  EXPECT_EQ(message_of([] { decode(compress("hello")); }), "t: not a trace: neither a .uvmt file nor JSON lines");
  EXPECT_THAT(message_of([] { decode(compress("")); }), HasSubstr("not a trace"));
  EXPECT_THAT(message_of([] { decode("{}"); }), HasSubstr("key 't' (the record type) is missing"));
  EXPECT_THAT(message_of([] { decode("{\"t\":\"kernel\"}"); }),
              HasSubstr("the first record must be {\"t\":\"header\",...}, not 'kernel'"));
  EXPECT_THAT(message_of([] { decode("{\"t\":\"header\",\"format\":\"x\",\"page_bytes\":65536}"); }),
              HasSubstr("uvmsim trace import raw"));
}

TEST(Damage, FilesThatCannotBeRead) {
  const ScratchFolder folder;
  EXPECT_EQ(message_of([&] { TraceReader(folder.path("none")); }),
            folder.path("none") + ": cannot be opened: No such file or directory");
  EXPECT_EQ(message_of([&] { TraceReader(folder.path()); }), folder.path() + ": is a folder, not a trace");
}

TEST(Damage, OtherVersions) {
  Header header = sample_header();
  header.major = 2;
  EXPECT_EQ(message_of([&] {
              encode({header, {}}, TraceFormat::kUvmt);
            }),
            "memory: header: trace format 2.7; this program reads 1.x");
  EXPECT_EQ(message_of([&] { decode("{\"t\":\"header\",\"major\":2,\"new_key\":1}"); }),
            "t: line 1: trace format 2.0; this program reads 1.x");
}

}  // namespace
}  // namespace uvmsim::trace
