// SPDX-License-Identifier: Apache-2.0
#include "sim/import/import_raw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/trace/validate.h"
#include "tests/policy/message_of.h"
#include "tests/trace/samples.h"

namespace uvmsim::trace::import_raw_test {
namespace {

using ::testing::HasSubstr;

constexpr auto kR = AccessMode::kRead, kW = AccessMode::kWrite, kRw = AccessMode::kReadWrite;

const std::string kHeader =
    R"({"t":"header","format":"uvm-raw-recording-1","gpu":"G","driver":"D","cuda":"13.0","program":"P",)"
    R"("layout":"L","page_bytes":65536})"
    "\n";

std::vector<Record> import(const std::string& lines, const ImportOptions& options = {}) {
  const std::string text = kHeader + lines;  // must outlive the importer
  RawImporter importer(text, "r", options);
  Validator validator("r", importer.header());
  std::vector<Record> records;
  Record record;
  while (importer.next(record)) {
    validator.check(record);
    records.push_back(record);
  }
  validator.finish();
  return records;
}
std::string about(const std::string& lines) {
  return message_of([&] { import(lines); });
}

// Addresses are given in pages of 64 KB: 16 * 65536 = 1048576 is page 16.
constexpr std::uint64_t kPage = 65536;
std::string alloc(std::uint64_t address, std::uint64_t bytes) {
  return "{\"t\":\"alloc\",\"addr\":" + std::to_string(address) + ",\"bytes\":" + std::to_string(bytes) + "}\n";
}
std::string kernel(const std::string& pages) {
  return "{\"t\":\"kernel\",\"name\":\"k\",\"grid\":[2,3,4],\"block\":[32,1,1],\"dur_ns\":500,\"gap_ns\":9,\"pages\":" +
         pages + "}\n";
}
// Returns the accesses of the last record.
const Kernel& last_kernel(const std::vector<Record>& records) { return std::get<Kernel>(records.back()); }
void expect_accesses(const Kernel& kernel, const std::vector<ObjectAccess>& expected) {
  Kernel other = kernel;
  other.accesses = expected;
  EXPECT_TRUE(same(kernel, other)) << encode({Header{}, {kernel}}, TraceFormat::kJsonLines);
}

TEST(ImportRaw, HeaderAndOrder) {
  const std::string text = kHeader + alloc(16 * kPage, 1000) +
                           "{\"t\":\"copy\",\"kind\":\"htod\",\"src\":0,\"dst\":1048576,\"bytes\":1000}\n"
                           "{\"t\":\"iteration\",\"index\":0}\n"
                           "{\"t\":\"set\",\"addr\":1048586,\"bytes\":7}\n" +
                           alloc(32 * kPage, 1000) +
                           "{\"t\":\"copy\",\"kind\":\"dtod\",\"src\":1048576,\"dst\":2097153,\"bytes\":999}\n"
                           "{\"t\":\"copy\",\"kind\":\"dtoh\",\"src\":2097152,\"dst\":0,\"bytes\":1}\n"
                           "{\"t\":\"iteration\",\"index\":1}\n"
                           "{\"t\":\"free\",\"addr\":1048576}\n";
  RawImporter importer(text, "r", {ObjectKind::kDevice, 512, "here"});
  const Header& header = importer.header();
  EXPECT_EQ(header.quantum_bytes, 512u);
  EXPECT_EQ(header.gpu, "G");
  EXPECT_EQ(header.driver, "D");
  EXPECT_EQ(header.program, "P");
  EXPECT_EQ(header.provenance, "here");
  std::vector<Record> found;
  Record record;
  while (importer.next(record)) found.push_back(record);
  const std::vector<Record> expected = {ObjectAlloc{1, ObjectKind::kDevice, 1000, 16 * kPage, 0},
                                        Memcpy{{1, 0}, {}, 1000, CopyKind::kHostToDevice, 0, true, 0},
                                        Range{RangeKind::kIterationBegin, "", 0},
                                        Memset{1, 10, 7, 0, 0},
                                        ObjectAlloc{2, ObjectKind::kDevice, 1000, 32 * kPage, 0},
                                        Memcpy{{2, 1}, {1, 0}, 999, CopyKind::kDeviceToDevice, 0, false, 0},
                                        Memcpy{{}, {2, 0}, 1, CopyKind::kDeviceToHost, 0, true, 0},
                                        Sync{},
                                        Range{RangeKind::kIterationEnd, "", 0},
                                        Range{RangeKind::kIterationBegin, "", 1},
                                        ObjectFree{1},
                                        Sync{},
                                        Range{RangeKind::kIterationEnd, "", 1}};
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(same(found[i], expected[i])) << i;
  EXPECT_EQ(importer.summary().objects, 2u);
}

TEST(ImportRaw, KernelFields) {
  const auto records = import(alloc(16 * kPage, 3 * kPage) + kernel("[[16,1,\"r\"],[18,1,\"w\"]]"));
  Kernel expected;
  expected.name = "k";
  expected.grid = {2, 3, 4};
  expected.block = {32, 1, 1};
  expected.duration_ns = 500;
  expected.accesses = {{1, {{0, 128, kR}, {256, 128, kW}}}};
  EXPECT_TRUE(same(records.back(), expected));
  EXPECT_EQ(last_kernel(import(kernel("[]"))).coverage, Coverage::kNone);
}

TEST(ImportRaw, MatrixProductsAreKnownByName) {
  std::string line = kernel("[]");
  EXPECT_EQ(last_kernel(import(line)).distribution, Distribution::kBlockLinear);
  line.replace(line.find("\"k\""), 3, "\"sm80_xmma_gemm_f32\"");
  EXPECT_EQ(last_kernel(import(line)).distribution, Distribution::kTiled);
}

TEST(ImportRaw, NeighboursInOneModeAreOneExtent) {
  const auto records =
      import(alloc(16 * kPage, 8 * kPage) + kernel("[[16,1,\"r\"],[17,2,\"r\"],[19,1,\"rw\"],[21,3,\"rw\"]]"));
  expect_accesses(last_kernel(records), {{1, {{0, 384, kR}, {384, 128, kRw}, {640, 384, kRw}}}});
}

TEST(ImportRaw, SmallObjectsShareAPage) {
  // Page 16 holds three objects, the last of them reaching into page 17; another one lies beyond.
  const std::string objects = alloc(16 * kPage, 512) + alloc(16 * kPage + 1024, 700) +
                              alloc(17 * kPage - 512, 512 + 100) + alloc(17 * kPage + 1024, 512);
  expect_accesses(last_kernel(import(objects + kernel("[[16,1,\"w\"]]"))),
                  {{1, {{0, 1, kW}}}, {2, {{0, 2, kW}}}, {3, {{0, 1, kW}}}});
  expect_accesses(last_kernel(import(objects + kernel("[[17,1,\"r\"]]"))), {{3, {{1, 1, kR}}}, {4, {{0, 1, kR}}}});
  expect_accesses(last_kernel(import(objects + kernel("[[16,1,\"w\"],[17,1,\"r\"]]"))),
                  {{1, {{0, 1, kW}}}, {2, {{0, 2, kW}}}, {3, {{0, 1, kW}, {1, 1, kR}}}, {4, {{0, 1, kR}}}});
}

TEST(ImportRaw, FreedObjectsAreNotTouched) {
  const auto records = import(alloc(16 * kPage, 512) + "{\"t\":\"free\",\"addr\":1048576}\n" + alloc(16 * kPage, 1024) +
                              kernel("[[16,1,\"r\"]]"));
  expect_accesses(last_kernel(records), {{2, {{0, 2, kR}}}});
}

TEST(ImportRaw, PagesOutsideAreCounted) {
  const std::string text = kHeader + alloc(16 * kPage, 512) + alloc(20 * kPage + 512, 2 * kPage) +
                           kernel("[[14,4,\"r\"],[18,6,\"w\"],[30,2,\"r\"]]");
  RawImporter importer(text, "r");
  Record record;
  while (importer.next(record)) {
  }
  // The pages outside of objects are 14, 15, 17; 18, 19, 23 (page 22 holds the last 512 bytes of the second object);
  // 30, 31.
  EXPECT_EQ(importer.summary().pages_outside, 8u);
  EXPECT_EQ(importer.summary().kernels, 1u);
}

TEST(ImportRaw, QuantumMustDivideAddresses) {
  EXPECT_THAT(about(alloc(16 * kPage + 256, 10)), HasSubstr("is 0 or no multiple of the quantum of 512 bytes"));
  EXPECT_EQ(import(alloc(16 * kPage + 256, 10), {ObjectKind::kManaged, 256, ""}).size(), 1u);
  EXPECT_THAT(message_of([] { import("", {ObjectKind::kManaged, 300, ""}); }), HasSubstr("a power of two"));
}

TEST(ImportRaw, Errors) {
  EXPECT_THAT(message_of([] { RawImporter("{\"t\":\"header\",\"major\":1}\n", "r"); }),
              HasSubstr("r: line 1: not a raw recording: the first line must be a header with "
                        "\"format\":\"uvm-raw-recording-1\""));
  EXPECT_THAT(message_of([] { RawImporter("", "r"); }), HasSubstr("the file is empty"));
  EXPECT_THAT(about("{\"t\":\"allocate\"}\n"), HasSubstr("r: line 2: unknown record type 'allocate' (did you mean"));
  EXPECT_THAT(about("{\"t\":\"free\",\"address\":1}\n"), HasSubstr("key 'addr' is missing"));
  EXPECT_THAT(about("{\"t\":\"iteration\",\"index\":0,\"x\":1}\n"), HasSubstr("unknown key 'x'"));
  EXPECT_THAT(about("{\"t\":\"free\",\"addr\":5}\n"), HasSubstr("free of address 5, where nothing is allocated"));
  EXPECT_THAT(about(alloc(512, 0)), HasSubstr("alloc of 0 bytes"));
  EXPECT_THAT(about(alloc(512, 513) + alloc(1024, 1)), HasSubstr("r: line 3: alloc of 1 bytes at 1024 overlaps"));
  EXPECT_THAT(about(alloc(1024, 1) + alloc(512, 513)), HasSubstr("overlaps a live allocation"));
  EXPECT_THAT(about("{\"t\":\"set\",\"addr\":5,\"bytes\":1}\n"),
              HasSubstr("1 bytes at address 5 do not lie in one live"));
  EXPECT_THAT(about(alloc(512, 10) + "{\"t\":\"copy\",\"kind\":\"htod\",\"src\":0,\"dst\":512,\"bytes\":11}\n"),
              HasSubstr("11 bytes at address 512 do not lie"));
  EXPECT_THAT(about(alloc(512, 10) + "{\"t\":\"copy\",\"kind\":\"dtox\",\"src\":0,\"dst\":512,\"bytes\":1}\n"),
              HasSubstr("copy: unknown kind 'dtox'; allowed: htod, dtoh, dtod"));
  EXPECT_THAT(about(kernel("[[16,1,\"q\"]]")), HasSubstr("unknown access mode 'q'"));
  EXPECT_THAT(about(kernel("[[16,0,\"r\"]]")), HasSubstr("are empty or not above those before"));
  EXPECT_THAT(about(kernel("[[16,2,\"r\"],[17,1,\"r\"]]")), HasSubstr("not above those before"));
  EXPECT_THAT(about(kernel("[[16,18446744073709551615,\"r\"]]")), HasSubstr("a count of pages is"));
  EXPECT_THAT(about(kernel("[16]")), HasSubstr("pages [page, count, mode] must be a list"));
  EXPECT_THAT(about("{"), HasSubstr("r: line 2: not valid JSON"));
}

}  // namespace
}  // namespace uvmsim::trace::import_raw_test
