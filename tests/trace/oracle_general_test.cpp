// SPDX-License-Identifier: Apache-2.0
// Tests of the oracleGeneral format, its import, and whole streams through the command: policies have the same misses
// on an exported stream as in the program.
#include "sim/import/oracle_general.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <unordered_map>

#include "sim/common/error.h"
#include "sim/import/import_requests.h"
#include "sim/trace/validate.h"
#include "tests/cli/command.h"
#include "tests/policy/message_of.h"

namespace uvmsim::trace::oracle_general_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ids = std::vector<std::uint64_t>;

std::string encode(const Ids& ids) {
  const std::vector<std::int64_t> next = next_accesses(ids);
  std::string out;
  for (std::size_t i = 0; i < ids.size(); ++i) append_oracle_record({7, ids[i], 4096, next[i]}, out);
  return out;
}
std::vector<OracleRecord> decode(const std::string& bytes) {
  OracleReader reader(bytes, "s");
  std::vector<OracleRecord> records;
  for (OracleRecord record; reader.next(record);) records.push_back(record);
  return records;
}

TEST(OracleGeneral, BytesAreThoseOfTheFormat) {
  std::string out;
  append_oracle_record({0x01020304, 0x1112131415161718, 0x21222324, -1}, out);
  EXPECT_EQ(out, std::string("\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11\x24\x23\x22\x21"
                             "\xff\xff\xff\xff\xff\xff\xff\xff",
                             24));
  EXPECT_THAT(decode(out), ElementsAre(OracleRecord{0x01020304, 0x1112131415161718, 0x21222324, -1}));
}

TEST(OracleGeneral, NextAccessesCountRequestsFromOne) {
  EXPECT_THAT(next_accesses(Ids{5, 6, 5, 5, 9}), ElementsAre(3, -1, 4, -1, -1));
  EXPECT_THAT(next_accesses(Ids{}), ElementsAre());
}

TEST(OracleGeneral, ManyRecordsPassTheBuffersEdge) {
  Ids ids;
  for (std::uint64_t i = 0; i < 10000; ++i) ids.push_back(i * i % 97);
  const std::vector<OracleRecord> records = decode(encode(ids));
  ASSERT_EQ(records.size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(records[i].id, ids[i]);
}

TEST(OracleGeneral, CutOffRecordsAreRefused) {
  const std::string whole = encode({1, 2, 3});
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
    if (bytes % 24 == 0) continue;
    const std::string part = whole.substr(0, bytes);
    EXPECT_THAT(message_of([&] { decode(part); }),
                HasSubstr("s: record " + std::to_string(bytes / 24 + 1) + " is cut off"));
  }
}

struct Imported {
  Header header;
  std::vector<Record> records;
};
Imported import(const std::string& bytes, const RequestsImportOptions& options = {}) {
  RequestsImporter importer(bytes, "s", options);
  Imported out{importer.header(), {}};
  Validator validator("s", importer.header());
  for (Record record; importer.next(record);) {
    validator.check(record);
    out.records.push_back(record);
  }
  validator.finish();
  return out;
}
Ids touched(const Imported& imported) {
  Ids pages;
  for (const Record& record : imported.records) {
    if (const auto* kernel = std::get_if<Kernel>(&record)) {
      for (const Touch& touch : kernel->touches) pages.push_back(touch.quantum);
    }
  }
  return pages;
}

TEST(ImportOracleGeneral, CloseIdsArePageNumbers) {
  const Imported imported = import(encode({1003, 1000, 1001, 1003}));
  EXPECT_THAT(touched(imported), ElementsAre(3, 0, 1, 3));
  EXPECT_EQ(std::get<ObjectAlloc>(imported.records[0]).bytes, 4u * 4096);
  EXPECT_THAT(imported.header.attributes, ::testing::Contains(::testing::Pair("ids", "page numbers")));
}

TEST(ImportOracleGeneral, ScatteredIdsAreNumberedByAppearance) {
  const Imported imported = import(encode({UINT64_MAX, 0, 1u << 30, UINT64_MAX}));
  EXPECT_THAT(touched(imported), ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(imported.header.attributes, ::testing::Contains(::testing::Pair("ids", "by first appearance")));
}

TEST(ImportOracleGeneral, LongStreamsAreSeveralKernels) {
  RequestsImportOptions options;
  options.touches_per_kernel = 2;
  options.page_bytes = 65536;
  const Imported imported = import(encode({0, 1, 2, 1, 0}), options);
  EXPECT_THAT(touched(imported), ElementsAre(0, 1, 2, 1, 0));
  EXPECT_EQ(imported.records.size(), 1u + 3 + 2);
  EXPECT_EQ(imported.header.quantum_bytes, 65536u);
}

struct Sized {
  std::uint64_t id;
  std::uint32_t bytes;
};
std::string encode_sized(const std::vector<Sized>& requests) {
  Ids ids;
  for (const Sized& request : requests) ids.push_back(request.id);
  const std::vector<std::int64_t> next = next_accesses(ids);
  std::string out;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    append_oracle_record({7, requests[i].id, requests[i].bytes, next[i]}, out);
  }
  return out;
}

TEST(ImportRequests, ARequestTouchesAllItsPages) {
  const std::string bytes = encode_sized({{10, 16384}, {14, 4097}, {10, 100}});
  EXPECT_THAT(touched(import(bytes)), ElementsAre(0, 1, 2, 3, 4, 5, 0));
  RequestsImportOptions options;
  options.whole_sizes = false;
  EXPECT_THAT(touched(import(bytes, options)), ElementsAre(0, 4, 0));
  RequestsImporter importer(bytes, "s");
  EXPECT_EQ(importer.summary().smallest_bytes, 100u);
  EXPECT_EQ(importer.summary().largest_bytes, 16384u);
  EXPECT_EQ(importer.summary().pages, 6u);
}

TEST(ImportRequests, ScatteredIdsHaveThePagesOfTheirLargestRequest) {
  const std::string bytes = encode_sized({{UINT64_MAX, 100}, {5, 4096}, {UINT64_MAX, 8192}, {5, 1}});
  EXPECT_THAT(touched(import(bytes)), ElementsAre(0, 2, 0, 1, 2));
}

TEST(ImportRequests, ALongRequestGoesOnInTheNextKernel) {
  RequestsImportOptions options;
  options.touches_per_kernel = 3;
  const Imported imported = import(encode_sized({{0, 5 * 4096}}), options);
  EXPECT_THAT(touched(imported), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(imported.records.size(), 1u + 2 + 2);
}

std::string little_endian(std::uint64_t value, std::size_t width) {
  std::string out;
  for (std::size_t i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

// A SCSI request is a run of 512-byte blocks with a direction.
TEST(ImportRequests, VscsiIsToldByItsVersions) {
  const auto first = [](std::uint64_t block, std::uint64_t bytes, std::uint64_t command) {
    return little_endian(1, 4) + little_endian(bytes, 4) + little_endian(1, 4) + little_endian(command, 2) +
           little_endian(0x100, 2) + little_endian(block, 8) + little_endian(99, 8);
  };
  const auto second = [](std::uint64_t block, std::uint64_t bytes, std::uint64_t command) {
    return little_endian(command, 2) + little_endian(0x200, 2) + little_endian(1, 4) + little_endian(bytes, 4) +
           little_endian(1, 4) + little_endian(block, 8) + little_endian(99, 8) + little_endian(5, 8);
  };
  for (const std::string& bytes : {first(80, 4096, 0x2a) + first(84, 4096, 0x28) + first(80, 512, 0x8a),
                                   second(80, 4096, 0x2a) + second(84, 4096, 0x28) + second(80, 512, 0x8a)}) {
    const Imported imported = import(bytes);
    EXPECT_THAT(touched(imported), ElementsAre(0, 0, 1, 0));  // block 84 begins in the middle of a page
    for (const Record& record : imported.records) {
      const auto* kernel = std::get_if<Kernel>(&record);
      if (kernel == nullptr) continue;
      EXPECT_EQ(kernel->touches[0].mode, AccessMode::kWrite);
      EXPECT_EQ(kernel->touches[1].mode, AccessMode::kRead);
    }
    EXPECT_THAT(imported.header.attributes, ::testing::Contains(::testing::Pair("format", "vscsi")));
  }
}

TEST(ImportRequests, LcsSaysInItsHeaderWhatARecordHolds) {
  const std::string magic = little_endian(0x123456789abcdef0, 8);
  std::string header = magic + "<IQI";
  header.resize(248, '\0');
  header += std::string("\x02\x03\x01", 3);  // id, size and time
  header.resize(1016, '\0');
  header += magic;
  const auto record = [](std::uint64_t id, std::uint64_t bytes) {
    return little_endian(7, 4) + little_endian(id, 8) + little_endian(bytes, 4);
  };
  const Imported imported = import(header + record(100, 8192) + record(101, 1));
  EXPECT_THAT(touched(imported), ElementsAre(0, 1, 1));
  EXPECT_THAT(imported.header.attributes, ::testing::Contains(::testing::Pair("format", "lcs")));
  std::string damaged = header;
  damaged[249] = 9;
  EXPECT_THAT(message_of([&] { import(damaged + record(1, 1)); }), HasSubstr("damaged header of lcs"));
}

TEST(ImportRequests, CsvNamesItsColumnsOrTheUserDoes) {
  EXPECT_THAT(touched(import("version,time,op,size,lbn\n1,5,2a,8192,40\n1,6,28,512,41\n")), ElementsAre(0, 1, 1));
  EXPECT_THAT(touched(import("key\tsize\nlong-name\t1\nother\t5000\nlong-name\t1\n")), ElementsAre(0, 1, 2, 0));
  RequestsImportOptions options;
  options.columns = "time,id,size";
  EXPECT_THAT(touched(import("5,40,4096\n6,42,4096\n", options)), ElementsAre(0, 2));
  EXPECT_THAT(message_of([] { import("5,40,4096\n"); }), HasSubstr("say what they are: --columns"));
  EXPECT_THAT(message_of([] { import("id,size\n4,many\n"); }), HasSubstr("line 2: 'many' is no size"));
  EXPECT_THAT(touched(import("12\n10\n12\n")), ElementsAre(2, 0, 2));  // a text file
}

// Returns the same requests, packed in two members by gzip, and then by xz.
std::string packed_by_gzip() {
  return std::string(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x2b\xc9\xcc\x4d\xd5\xc9\x4c\xd1\x29\xce\xac\x4a\xe5\x32"
      "\xd4\x31\xd7\x31\x31\xb0\x04\x00\xf6\x42\x56\xaa\x14\x00\x00\x00\x1f\x8b\x08\x00\x00\x00\x00\x00"
      "\x02\x03\x33\xe3\x32\xd2\xb1\xd4\xb1\x30\xb4\x34\xe2\x32\xd6\x31\xd7\x31\x31\xb0\x34\xe3\x02\x00"
      "\xe0\x7a\xf2\xce\x14\x00\x00\x00",
      80);
}
std::string packed_by_xz() {
  return std::string(
      "\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3"
      "\x01\x00\x27\x74\x69\x6d\x65\x2c\x69\x64\x2c\x73\x69\x7a\x65\x0a\x31\x2c\x37\x2c\x34\x30\x39\x36"
      "\x0a\x32\x2c\x39\x2c\x38\x31\x39\x32\x0a\x33\x2c\x37\x2c\x34\x30\x39\x36\x0a\x00\x38\xa3\x94\xeb"
      "\xdb\x11\x5a\xae\x00\x01\x40\x28\xd4\x52\x4a\xe5\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a",
      96);
}

TEST(ImportRequests, FilesOfGzipAndXzAreUnpackedByContent) {
  const std::string plain = "time,id,size\n1,7,4096\n2,9,8192\n3,7,4096\n";
  const auto touches_of = [](const Imported& imported) {
    std::size_t touches = 0;
    for (const Record& record : imported.records) {
      if (const auto* kernel = std::get_if<Kernel>(&record)) touches += kernel->touches.size();
    }
    return touches;
  };
  const Imported expected = import(plain);
  EXPECT_EQ(touches_of(expected), 4u) << "a request of 8192 bytes is two pages";
  for (const std::string& packed : {packed_by_gzip(), packed_by_xz()}) {
    const Imported got = import(packed);
    ASSERT_EQ(got.records.size(), expected.records.size());
    EXPECT_EQ(touches_of(got), touches_of(expected));
    for (std::size_t bytes = 8; bytes < packed.size(); bytes += 3) {
      EXPECT_THAT(message_of([&] { import(packed.substr(0, bytes)); }), ::testing::Not(""));
    }
    std::string damaged = packed;
    damaged[16] = static_cast<char>(damaged[16] ^ 0x10);
    EXPECT_THAT(message_of([&] { import(damaged); }), HasSubstr("s: "));
  }
}

TEST(ImportRequests, OtherFilesAreRefusedByWhatTheyAre) {
  EXPECT_THAT(message_of([] { import("{\"traceEvents\": [1]}"); }), HasSubstr("trace import kineto"));
  EXPECT_THAT(message_of([] { import("\x1f\x8b and so on"); }), HasSubstr("damaged data of gzip"));
  EXPECT_THAT(message_of([] { import("some words 1\n"); }), HasSubstr("'some words 1' is no id"));
  std::string falling;
  append_oracle_record({9, 1, 4096, -1}, falling);
  append_oracle_record({3, 2, 4096, -1}, falling);  // 48 bytes, but the times decrease
  EXPECT_THAT(message_of([&] { import(falling); }), HasSubstr("not recognised as requests of libCacheSim"));
}

TEST(ImportOracleGeneral, RefusesWhatCannotBe) {
  EXPECT_THAT(message_of([] { import(""); }), HasSubstr("no requests"));
  EXPECT_THAT(message_of([] { import(std::string(25, 'x')); }), HasSubstr("record 2 is cut off"));
  for (const std::uint32_t bytes : {0u, 256u, 3000u, 4u << 20}) {
    RequestsImportOptions options;
    options.page_bytes = bytes;
    EXPECT_THAT(message_of([&] { import(encode({1}), options); }), HasSubstr("allowed: a power of two"));
  }
  RequestsImportOptions none;
  none.touches_per_kernel = 0;
  EXPECT_THAT(message_of([&] { import(encode({1}), none); }), HasSubstr("touches per kernel"));
  EXPECT_THAT(message_of([] { RequestsImporter importer("-"); }), HasSubstr("read twice"));
}

// Returns the misses of a reference policy, as simple as possible, with the capacity in pages and an empty cache at the
// start.
std::uint64_t misses(const Ids& ids, std::size_t capacity, bool lru) {
  std::list<std::uint64_t> queue;  // next victim first
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places;
  std::uint64_t count = 0;
  for (const std::uint64_t id : ids) {
    const auto found = places.find(id);
    if (found != places.end()) {
      if (lru) queue.splice(queue.end(), queue, found->second);
      continue;
    }
    ++count;
    if (queue.size() == capacity) {
      places.erase(queue.front());
      queue.pop_front();
    }
    places[id] = queue.insert(queue.end(), id);
  }
  return count;
}

// Generates the streams on which this project's policies are compared with the miss counts of libCacheSim's.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ >> 33;
  }

 private:
  std::uint64_t state_;
};
Ids uniform() {
  Generator random(1);
  Ids ids;
  for (int i = 0; i < 10000; ++i) ids.push_back(random.next() % 200);
  return ids;
}
Ids zigzag() {
  Ids ids;
  for (std::uint64_t i = 0; i < 10000; ++i) ids.push_back(i % 398 < 200 ? i % 398 : 398 - i % 398);
  return ids;
}

class OracleGeneralCommand : public CommandTest {
 protected:
  Ids through_the_simulator(const Ids& ids) {
    folder.write("in.oracleGeneral", encode(ids));
    EXPECT_EQ(run({"trace", "import", "oracle-general", "in.oracleGeneral", "-o", "t.uvmt"}).exit_code, 0);
    EXPECT_EQ(run({"trace", "export", "oracle-general", "t.uvmt", "-o", "out.oracleGeneral", "--page-size", "4KiB"})
                  .exit_code,
              0);
    const std::string bytes = folder.read("out.oracleGeneral");
    Ids out;
    for (const OracleRecord& record : decode(bytes)) out.push_back(record.id);
    EXPECT_EQ(next_accesses(out).size() * kOracleRecordBytes, bytes.size());
    const std::vector<std::int64_t> next = next_accesses(out);
    const std::vector<OracleRecord> records = decode(bytes);
    for (std::size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ(records[i].next_access, next[i]);
      EXPECT_EQ(records[i].bytes, 4096u);
    }
    return out;
  }
};

// The export omits requests that repeat the one before; they are hits under every policy.
TEST_F(OracleGeneralCommand, MissCountsAreThoseOfLibCacheSim) {
  struct Golden {
    Ids ids;
    std::size_t capacity;
    std::uint64_t fifo, lru;
  };
  for (const Golden& golden : {Golden{uniform(), 20, 9010, 9013}, Golden{uniform(), 100, 5023, 5089},
                               Golden{zigzag(), 20, 9050, 9050}, Golden{zigzag(), 150, 5050, 2650}}) {
    EXPECT_EQ(misses(golden.ids, golden.capacity, false), golden.fifo);
    EXPECT_EQ(misses(golden.ids, golden.capacity, true), golden.lru);
    const Ids back = through_the_simulator(golden.ids);
    EXPECT_EQ(misses(back, golden.capacity, false), golden.fifo);
    EXPECT_EQ(misses(back, golden.capacity, true), golden.lru);
    Ids without_repeats = golden.ids;
    without_repeats.erase(std::unique(without_repeats.begin(), without_repeats.end()), without_repeats.end());
    EXPECT_EQ(back, without_repeats);
  }
}

TEST_F(OracleGeneralCommand, ASequentialScanMissesEverythingUnlessItFits) {
  ASSERT_EQ(run({"trace", "generate", "sequential", "--bytes", "32MiB", "--repeats", "3", "-o", "scan.uvmt"}).exit_code,
            0);
  ASSERT_EQ(run({"trace", "export", "oracle-general", "scan.uvmt", "-o", "scan.og"}).exit_code, 0);
  Ids ids;
  for (const OracleRecord& record : decode(folder.read("scan.og"))) ids.push_back(record.id);
  EXPECT_EQ(ids.size(), 48u);  // 16 blocks, three times
  EXPECT_EQ(misses(ids, 15, true), 48u);
  EXPECT_EQ(misses(ids, 16, true), 16u);
}

TEST_F(OracleGeneralCommand, SaysWhatIsWrong) {
  folder.write("ok.og", encode({1, 2}));
  folder.write("cut.og", encode({1, 2}).substr(0, 30));
  expect_one_line_error(run({"trace", "import", "oracle-general", "cut.og", "-o", "t.uvmt"}), {"cut.og", "record 2"});
  EXPECT_FALSE(std::filesystem::exists(folder.path("t.uvmt")));
  expect_one_line_error(run({"trace", "import", "oracle-general", "ok.og", "-o", "t.uvmt", "--page-size", "5000"}),
                        {"5000", "power of two"});
  expect_one_line_error(run({"trace", "import", "oracle-general", "ok.og", "-o", "t.uvmt", "--process", "1"}),
                        {"--process does not go with import oracle-general"});
  expect_one_line_error(run({"trace", "import", "oracle", "ok.og", "-o", "t.uvmt"}), {"unknown kind 'oracle'"});
  expect_one_line_error(run({"trace", "export", "lcs", "ok.og", "-o", "x"}), {"unknown format 'lcs'"});
  expect_one_line_error(run({"trace", "export", "oracle-general"}), {"no trace given"});
  ASSERT_EQ(run({"trace", "import", "oracle-general", "ok.og", "-o", "t.uvmt"}).exit_code, 0);
  expect_one_line_error(run({"trace", "export", "oracle-general", "t.uvmt", "-o", "x", "--page-size", "8KiB"}),
                        {"pages of 8192 bytes"});
  expect_one_line_error(run({"trace", "export", "oracle-general", "t.uvmt", "-o", "x", "--layout", "y"}),
                        {"--layout", "unknown layout 'y'"});
  EXPECT_FALSE(std::filesystem::exists(folder.path("x")));
}

}  // namespace
}  // namespace uvmsim::trace::oracle_general_test
