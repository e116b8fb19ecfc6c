// SPDX-License-Identifier: Apache-2.0
// Duties of the writer: files appear whole, records that cannot be read back are refused, bytes are deterministic.
#include "sim/trace/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/policy/message_of.h"
#include "tests/report/scratch_folder.h"
#include "tests/trace/samples.h"

namespace uvmsim::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Writer, FormatByName) {
  EXPECT_EQ(format_of_path("a/b.uvmt"), TraceFormat::kUvmt);
  EXPECT_EQ(format_of_path("b.jsonl"), TraceFormat::kJsonLines);
  EXPECT_EQ(format_of_path("-"), TraceFormat::kJsonLines);
  EXPECT_EQ(message_of([] { format_of_path("b.json"); }), "b.json: the name of a trace must end in .uvmt or .jsonl");
}

TEST(Writer, FileAppearsAtTheEnd) {
  const ScratchFolder folder;
  for (const char* name : {"t.jsonl", "t.uvmt"}) {
    TraceWriter writer(folder.path(name), sample_header());
    for (const Record& record : sample_records()) writer.write(record);
    EXPECT_FALSE(std::filesystem::exists(folder.path(name)));
    writer.finish();
    EXPECT_EQ(writer.records(), sample_records().size());
    EXPECT_EQ(folder.read(name), encode({sample_header(), sample_records()}, format_of_path(name)));
  }
  EXPECT_THAT(folder.names(), ElementsAre("t.jsonl", "t.uvmt"));
}

TEST(Writer, NothingRemainsWithoutFinish) {
  const ScratchFolder folder;
  folder.write("t.uvmt", "old");
  { TraceWriter writer(folder.path("t.uvmt"), sample_header()); }
  EXPECT_THAT(folder.names(), ElementsAre("t.uvmt"));
  EXPECT_EQ(folder.read("t.uvmt"), "old");
}

TEST(Writer, CannotBeWritten) {
  const ScratchFolder folder;
  const std::string path = folder.path("none/t.uvmt");
  EXPECT_THAT(message_of([&] { TraceWriter(path, sample_header()); }), HasSubstr(path));
}

TEST(Writer, RefusesWhatCouldNotBeReadBack) {
  std::string out;
  TraceWriter writer(out, TraceFormat::kUvmt, Header{});
  writer.write(ObjectFree{1});
  const auto about = [&](const Record& record) { return message_of([&] { writer.write(record); }); };
  Kernel kernel;
  kernel.accesses = {{1, {{4, 1, AccessMode::kRead}, {0, 1, AccessMode::kRead}}}};
  EXPECT_THAT(about(kernel), HasSubstr("memory: record 2 (kernel): accesses[0]: extent 1 starts at quantum 0"));
  kernel.accesses[0].extents = {{0, 1, static_cast<AccessMode>(0)}};
  EXPECT_THAT(about(kernel), HasSubstr("access mode 0"));
  kernel.accesses.clear();
  kernel.duration_ns = -1;
  EXPECT_THAT(about(kernel), HasSubstr("duration_ns is -1; allowed: 0 to 2^61"));
  EXPECT_THAT(about(Range{RangeKind::kPush, "\xc3\x28", 0}), HasSubstr("'?(' is not UTF-8"));
  EXPECT_THAT(about(Range{RangeKind::kPush, std::string(100000, 'x'), 0}), HasSubstr("a name of 100000 bytes"));
  // The refused record left nothing in the file.
  writer.write(ObjectFree{2});
  writer.finish();
  EXPECT_EQ(decode(out).records.size(), 2u);
}

TEST(Writer, LargeRecords) {
  HostAccess access{1, {}, {}, 0};
  Random random(1);
  for (int i = 0; i < 4000000; ++i) {
    access.touches.emplace_back(random.below(std::uint64_t{1} << 40), AccessMode::kRead);
  }
  std::string out;
  TraceWriter writer(out, TraceFormat::kUvmt, Header{});
  EXPECT_THAT(message_of([&] { writer.write(access); }), HasSubstr("allowed: at most 16777216"));
  access.touches.resize(2000000);
  writer.write(access);
  writer.finish();
  EXPECT_TRUE(same(decode(out).records.at(0), access));
  // JSON lines need more bytes than messages.
  access.touches.assign(5000000, {1, AccessMode::kRead});
  EXPECT_TRUE(same(decode(encode({Header{}, {access}}, TraceFormat::kUvmt)).records.at(0), access));
  EXPECT_THAT(message_of([&] { encode({Header{}, {access}}, TraceFormat::kJsonLines); }), HasSubstr("write .uvmt"));
}

TEST(Writer, SameRecordsSameBytes) {
  const Trace trace{sample_header(), sample_records()};
  EXPECT_EQ(encode(trace, TraceFormat::kUvmt), encode(trace, TraceFormat::kUvmt));
}

}  // namespace
}  // namespace uvmsim::trace
