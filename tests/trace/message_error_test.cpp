// SPDX-License-Identifier: Apache-2.0
// Frames that are whole but hold messages that our writer never makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>

#include "sim/trace/limits.h"
#include "tests/policy/message_of.h"
#include "tests/trace/samples.h"

namespace uvmsim::trace::message_error_test {
namespace {

using ::testing::HasSubstr;

// Writes protobuf's wire format by hand.
std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  return out + static_cast<char>(value);
}
std::string number(unsigned field, std::uint64_t value) { return varint(field << 3) + varint(value); }
std::string bytes(unsigned field, const std::string& content) {
  return varint(field << 3 | 2) + varint(content.size()) + content;
}
std::string packed(unsigned field, const std::vector<std::uint64_t>& values) {
  std::string content;
  for (const auto value : values) content += varint(value);
  return bytes(field, content);
}
std::string message(const std::string& entry) { return varint(entry.size()) + entry; }

// Field numbers of Entry, Header and Kernel in uvmtrace.proto.
constexpr unsigned kHeaderField = 2, kEndField = 3, kKernelField = 4, kAllocField = 5;

std::string header(std::uint64_t major = 1, std::uint64_t quantum = 512) {
  return message(bytes(kHeaderField, bytes(1, "UVMT") + number(2, major) + number(4, quantum)));
}
std::string end(std::uint64_t records) { return message(bytes(kEndField, number(1, records))); }
std::string kernel(const std::string& fields) { return message(bytes(kKernelField, fields)); }

std::string about(const std::string& content) {
  return message_of([&] { decode(compress(content)); });
}
std::string about_kernel(const std::string& fields) { return about(header() + kernel(fields) + end(1)); }
bool is_kernel(const std::string& fields) {
  return decode(compress(header() + kernel(fields) + end(1))).records.size() == 1;
}

TEST(MessageErrors, TheHandMadeFormIsRight) {
  const Trace trace = decode(compress(header() + message(bytes(1, "name") + bytes(kKernelField, number(1, 1))) +
                                      kernel(number(1, 1) + number(9, 77)) + end(2)));
  ASSERT_EQ(trace.records.size(), 2u);
  EXPECT_EQ(std::get<Kernel>(trace.records[1]).name, "name");
  EXPECT_EQ(std::get<Kernel>(trace.records[1]).duration_ns, 77);
}

TEST(MessageErrors, UnknownFieldsAreSkippedUnknownRecordsAreNot) {
  EXPECT_EQ(
      decode(compress(header() + kernel(number(9, 5) + bytes(99, "new") + number(100, 3)) + end(1))).records.size(),
      1u);
  EXPECT_EQ(about(header() + message(bytes(30, "new")) + end(1)),
            "t: record 1 (frame 1): unknown record type 30 (written by a newer version?); known: 2 to 17");
  EXPECT_THAT(about(header() + message(bytes(1, "a") + bytes(30, "new")) + end(1)), HasSubstr("record type 30"));
  EXPECT_THAT(about(header() + message("") + end(1)), HasSubstr("an entry without a record"));
  EXPECT_THAT(about(header() + message(bytes(1, "a")) + end(1)), HasSubstr("an entry without a record"));
}

TEST(MessageErrors, Header) {
  EXPECT_THAT(about(header(2)), HasSubstr("t: trace format 2.0; this program reads 1.x"));
  EXPECT_THAT(about(header(1, 100)), HasSubstr("quantum_bytes is 100; allowed: a power of two from 1 to 2097152"));
  EXPECT_THAT(about(header(1, 0)), HasSubstr("quantum_bytes is 0"));
  EXPECT_THAT(about(header() + header() + end(0)), HasSubstr("a second header"));
}

TEST(MessageErrors, End) {
  EXPECT_THAT(about(header() + kernel("") + end(2)), HasSubstr("the end mark counts 2 records, the file holds 1"));
  EXPECT_THAT(about(header() + end(0) + kernel("")), HasSubstr("data after the end mark"));
}

TEST(MessageErrors, Lengths) {
  EXPECT_THAT(about(header() + "\x7f"), HasSubstr("a message is longer than its frame"));
  EXPECT_THAT(about(header() + std::string(12, '\xff')), HasSubstr("a message is longer than its frame"));
  EXPECT_THAT(about(header() + message("\x22\x7f")), HasSubstr("a message that is no trace entry"));
}

TEST(MessageErrors, Strings) {
  EXPECT_THAT(about_kernel(number(1, 1)), HasSubstr("string number 1 is not defined; the frame has 0 so far"));
  EXPECT_THAT(about(header() + message(bytes(1, "") + bytes(kKernelField, "")) + end(1)), HasSubstr("is empty"));
  EXPECT_THAT(about(header() + message(bytes(1, "\xff") + bytes(kKernelField, "")) + end(1)),
              HasSubstr("name '?' is not UTF-8"));
  EXPECT_THAT(about(message(bytes(kHeaderField, bytes(1, "UVMT") + number(2, 1) + bytes(5, "\xff"))) + end(0)),
              HasSubstr("tool '?' is not UTF-8"));
  // Each frame numbers its names from the start.
  const std::string first = compress(header() + message(bytes(1, "name") + bytes(kKernelField, number(1, 1))));
  EXPECT_THAT(message_of([&] { decode(first + compress(kernel(number(1, 1)) + end(2))); }),
              HasSubstr("t: record 2 (frame 2): string number 1 is not defined"));
}

TEST(MessageErrors, EnumsAndRanges) {
  EXPECT_THAT(about_kernel(number(10, 4)), HasSubstr("unknown distribution number 4; allowed: 0 to 3"));
  EXPECT_THAT(about_kernel(number(12, 99)), HasSubstr("unknown coverage number 99; allowed: 0 to 5"));
  EXPECT_THAT(about_kernel(number(9, std::uint64_t{1} << 63)), HasSubstr("a time of 9223372036854775808"));
  EXPECT_THAT(about_kernel(number(3, 1)), HasSubstr("device -1; allowed: 0 to 1023"));
  EXPECT_THAT(about_kernel(packed(4, {1, 0})), HasSubstr("grid 1x0x1 has a dimension of 0"));
  EXPECT_THAT(about_kernel(packed(5, {1, 1, 1, 1})), HasSubstr("a grid or block of 4 dimensions"));
  EXPECT_THAT(about(header() + message(bytes(kAllocField, number(2, 5))) + end(1)), HasSubstr("unknown object kind"));
}

TEST(MessageErrors, Extents) {
  const auto extents = [](const std::vector<std::uint64_t>& counts, const std::vector<std::uint64_t>& numbers) {
    return about_kernel(packed(13, std::vector<std::uint64_t>(counts.size(), 1)) + packed(14, counts) +
                        packed(15, numbers));
  };
  EXPECT_THAT(about_kernel(packed(13, {1, 2}) + packed(14, {0})), HasSubstr("2 accesses with 1 lists of extents"));
  EXPECT_THAT(extents({1}, {1}), HasSubstr("an odd count of numbers"));
  EXPECT_THAT(extents({2}, {1, 1}), HasSubstr("2 extents where 1 are left"));
  EXPECT_THAT(extents({4000000000}, {1, 1}), HasSubstr("4000000000 extents where 1 are left"));
  EXPECT_THAT(extents({1}, {1, 1, 1, 1}), HasSubstr("1 extents more than their counts say"));
  EXPECT_THAT(extents({1}, {0, 1}), HasSubstr("access mode 0"));
  EXPECT_THAT(extents({1}, {1, 0}), HasSubstr("extent 0 is empty"));
  EXPECT_THAT(extents({2}, {(kMaxQuantum << 2) | 1, 0, 1, 1}), HasSubstr("beyond quantum 2^60"));
  EXPECT_THAT(extents({1}, {1, UINT64_MAX}), HasSubstr("beyond quantum 2^60"));
}

TEST(MessageErrors, Touches) {
  const std::string access = packed(13, {1}) + packed(14, {1}) + packed(15, {1, 4});
  EXPECT_THAT(about_kernel(packed(16, {1})), HasSubstr("touches without accesses"));
  EXPECT_THAT(about_kernel(access + packed(16, {1, 1}) + packed(17, {0})), HasSubstr("2 touches with 1 slots"));
  EXPECT_THAT(about_kernel(access + packed(16, {1}) + packed(17, {1})), HasSubstr("touch 0 names slot 1"));
  EXPECT_THAT(about_kernel(access + packed(16, {1 << 2 | 1})), HasSubstr("a touch lies at quantum -1"));
  EXPECT_THAT(about_kernel(access + packed(16, {UINT64_MAX})), HasSubstr("a touch lies at quantum"));
  EXPECT_THAT(about_kernel(access + packed(16, {0})), HasSubstr("touch 0 has access mode 0"));
}

TEST(MessageErrors, Phases) {
  const std::string access = packed(13, {1}) + packed(14, {1}) + packed(15, {1, 4});
  EXPECT_THAT(about_kernel(access + bytes(18, packed(3, {0}))), HasSubstr("a phase of 1 slots with 0 lists"));
  EXPECT_THAT(about_kernel(access + bytes(18, packed(3, {1}) + packed(4, {0}))), HasSubstr("phase 0 names slot 1"));
}

// Phases can name extents by their place in the kernel's list.
TEST(MessageErrors, SharedExtents) {
  const std::string access = packed(13, {1}) + packed(14, {3}) + packed(15, {1, 4, 9, 4, 9, 4});
  const auto fields = [&](std::uint64_t slot, std::uint64_t total, const std::vector<std::uint64_t>& share_counts,
                          const std::vector<std::uint64_t>& shares, const std::vector<std::uint64_t>& rest) {
    return access + bytes(18, number(2, 1) + packed(3, {slot}) + packed(4, {total}) + packed(5, rest) +
                                  packed(6, share_counts) + packed(7, shares));
  };
  const auto phase = [&](const auto&... parts) { return about_kernel(fields(parts...)); };
  using List = std::vector<std::uint64_t>;
  EXPECT_TRUE(is_kernel(fields(0, 2, {1}, {1, 2}, {})));
  EXPECT_TRUE(is_kernel(fields(0, 3, {1}, {1, 2}, {1, 1})));
  EXPECT_THAT(phase(std::uint64_t{0}, std::uint64_t{2}, List{1, 1}, List{1, 2}, List{}),
              HasSubstr("1 lists of extents and 2 of shares"));
  EXPECT_THAT(phase(std::uint64_t{1}, std::uint64_t{2}, List{1}, List{1, 2}, List{}), HasSubstr("names slot 1"));
  EXPECT_THAT(phase(std::uint64_t{0}, std::uint64_t{2}, List{1}, List{1, 3}, List{}),
              HasSubstr("beyond the 3 of slot 0"));
  EXPECT_THAT(phase(std::uint64_t{0}, std::uint64_t{2}, List{1}, List{4294967295, 1}, List{}),
              HasSubstr("beyond the 3 of slot 0"));
  EXPECT_THAT(phase(std::uint64_t{0}, std::uint64_t{2}, List{1}, List{0, 4294967295}, List{}),
              HasSubstr("beyond the 3 of slot 0"));
  EXPECT_THAT(phase(std::uint64_t{0}, std::uint64_t{2}, List{2}, List{0, 2, 1}, List{}),
              HasSubstr("2 shares where 3 numbers are left"));
  EXPECT_THAT(phase(std::uint64_t{0}, std::uint64_t{1}, List{1}, List{0, 2}, List{}),
              HasSubstr("shares of 2 extents in a list of 1"));
  EXPECT_THAT(phase(std::uint64_t{0}, std::uint64_t{3}, List{1}, List{0, 2}, List{}),
              HasSubstr("1 extents where 0 are left"));
  EXPECT_THAT(phase(std::uint64_t{0}, std::uint64_t{2}, List{1}, List{0, 2, 5, 5}, List{}),
              HasSubstr("2 numbers of shares more"));
  EXPECT_THAT(phase(std::uint64_t{0}, std::uint64_t{2}, List{1}, List{0, 1}, List{1, 1}),
              HasSubstr("inside or before the one that ends"));
}

// A few bytes must not become gigabytes: every phase names all of the kernel's extents again.
TEST(MessageErrors, SharedExtentsHaveALimit) {
  constexpr std::uint64_t kExtents = 100000;
  std::vector<std::uint64_t> extents;
  for (std::uint64_t i = 0; i < kExtents; ++i) extents.insert(extents.end(), {1 << 2 | 1, 1});
  std::string fields = packed(4, {1000}) + packed(13, {1}) + packed(14, {kExtents}) + packed(15, extents);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    fields += bytes(18, number(1, i) + number(2, 1) + packed(3, {0}) + packed(4, {kExtents}) + packed(6, {1}) +
                            packed(7, {0, kExtents}));
  }
  EXPECT_THAT(about_kernel(fields), HasSubstr("too many"));
}

TEST(MessageErrors, OrderAndCounts) {
  const std::string access = packed(13, {1}) + packed(14, {1}) + packed(15, {1, 4});
  EXPECT_TRUE(is_kernel(access + packed(20, {2, 4})));
  EXPECT_THAT(about_kernel(packed(20, {2})), HasSubstr("the order names slot 0"));
  EXPECT_THAT(about_kernel(access + packed(20, {2}) + packed(21, {0, 0})), HasSubstr("1 units with 2 slots"));
  EXPECT_THAT(about_kernel(access + packed(20, {1})), HasSubstr("order 0 at unit"));
  EXPECT_TRUE(is_kernel(access + packed(22, {1}) + packed(23, {5}) + packed(24, {7})));
  EXPECT_THAT(about_kernel(access + packed(22, {1, 1}) + packed(23, {5, 5}) + packed(24, {7, 7})),
              HasSubstr("2 lists of counts for 1 accesses"));
  EXPECT_THAT(about_kernel(access + packed(22, {1}) + packed(23, {5}) + packed(24, {7, 7})),
              HasSubstr("with 2 counts"));
  EXPECT_THAT(about_kernel(access + packed(22, {2}) + packed(23, {5}) + packed(24, {7})),
              HasSubstr("2 counts where 1"));
  EXPECT_THAT(about_kernel(access + packed(23, {5}) + packed(24, {7})), HasSubstr("1 counts more"));
  EXPECT_THAT(about_kernel(access + packed(22, {2}) + packed(23, {5, UINT64_MAX - 5}) + packed(24, {7, 7})),
              HasSubstr("does not lie above"));
  EXPECT_THAT(about_kernel(access + packed(22, {1}) + packed(23, {UINT64_MAX}) + packed(24, {7})),
              HasSubstr("at unit"));
}

TEST(MessageErrors, FramesAndRecordsHaveLimits) {
  // 65 MB of zeros compress to a few KB.
  std::string large = header();
  large.resize(kMaxFrameBytes + 1);
  EXPECT_THAT(about(large), HasSubstr("frame 1 holds more than 67108864 bytes"));
  large.resize(kMaxFrameBytes - 1);
  const std::string tail = large.substr(header().size() + 8);
  EXPECT_THAT(about(header() + message(tail)), HasSubstr("allowed: at most 16777216"));
}

// A field of a message in uvmtrace.proto.
struct ProtoField {
  std::string type;
  unsigned number = 0;
};

// Returns the fields by message, read from the file, so that a new field is tested, too.
std::map<std::string, std::vector<ProtoField>> proto_fields() {
  std::ifstream file(UVMSIM_SOURCE_DIR "/sim/trace/uvmtrace.proto");
  std::map<std::string, std::vector<ProtoField>> all;
  std::string line, open;
  const std::regex begin(R"(^(message|enum) (\w+) \{.*)"), field(R"(^ +(?:repeated )?(\w+) \w+ = (\d+);.*)");
  for (std::smatch match; std::getline(file, line);) {
    if (std::regex_match(line, match, begin)) open = match[1] == "message" ? match[2].str() : "";
    if (open.empty() || !std::regex_match(line, match, field)) continue;
    all[open].push_back({match[1], static_cast<unsigned>(std::stoul(match[2]))});
  }
  return all;
}

TEST(MessageErrors, NumbersThatDoNotFitTheirFieldsAreRefused) {
  const std::map<std::string, std::vector<ProtoField>> all = proto_fields();
  const auto fits = [](const std::string& type) {
    return type == "uint64" || type == "sint64" || type == "bytes" || (type[0] != 'b' && type.ends_with("64"));
  };
  unsigned tried = 0;
  for (const ProtoField& record : all.at("Entry")) {
    if (record.type == "bytes") continue;
    const auto try_fields = [&](const std::string& message_name, const auto& wrap) {
      for (const ProtoField& one : all.at(message_name)) {
        if (fits(one.type) || all.contains(one.type)) continue;
        ++tried;
        for (const std::uint64_t value : {(std::uint64_t{1} << 32) + 1, std::uint64_t{7} << 32, ~std::uint64_t{0}}) {
          const std::string entry = message(bytes(record.number, wrap(number(one.number, value))));
          const bool is_header = record.type == "Header";
          EXPECT_THAT(about(is_header ? entry : header() + entry + end(1)), HasSubstr("which does not fit it"))
              << message_name << " " << one.number << " " << value;
          const std::string many = message(bytes(record.number, wrap(packed(one.number, {1, value}))));
          if (one.type == "uint32" && !is_header) {
            EXPECT_THAT(about(header() + many + end(1)), ::testing::Not("")) << message_name << " " << one.number;
          }
        }
      }
    };
    // A file is told by the magic of its header.
    const std::string before = record.type == "Header" ? bytes(1, "UVMT") : "";
    try_fields(record.type, [&](const std::string& fields) { return before + fields; });
    if (record.type == "Kernel") try_fields("Phase", [](const std::string& fields) { return bytes(18, fields); });
  }
  EXPECT_GT(tried, 35u);
  // The largest number that fits is accepted.
  EXPECT_TRUE(is_kernel(number(6, UINT32_MAX)));
  EXPECT_THAT(about_kernel(number(6, std::uint64_t{UINT32_MAX} + 1)), HasSubstr("field 6 holds 4294967296"));
}

TEST(MessageErrors, AnEntryHasOneRecord) {
  EXPECT_THAT(about(header() + message(bytes(kKernelField, "") + bytes(kAllocField, number(1, 7))) + end(1)),
              HasSubstr("an entry with two records (fields 4 and 5); allowed: one"));
  EXPECT_THAT(about(header() + message(bytes(kKernelField, "") + bytes(kKernelField, "")) + end(1)),
              HasSubstr("an entry with two records (fields 4 and 4)"));
}

}  // namespace
}  // namespace uvmsim::trace::message_error_test
