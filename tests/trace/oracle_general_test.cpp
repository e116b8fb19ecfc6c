// SPDX-License-Identifier: Apache-2.0
// The oracleGeneral format, its import, and whole streams through the command: policies see in an exported stream what
// they see in the program.
#include "sim/import/oracle_general.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>
#include <unordered_map>

#include "sim/common/error.h"
#include "sim/import/import_oracle_general.h"
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
Imported import(const std::string& bytes, const OracleImportOptions& options = {}) {
  OracleImporter importer(bytes, "s", options);
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
  OracleImportOptions options;
  options.touches_per_kernel = 2;
  options.page_bytes = 65536;
  const Imported imported = import(encode({0, 1, 2, 1, 0}), options);
  EXPECT_THAT(touched(imported), ElementsAre(0, 1, 2, 1, 0));
  EXPECT_EQ(imported.records.size(), 1u + 3 + 2);
  EXPECT_EQ(imported.header.quantum_bytes, 65536u);
}

TEST(ImportOracleGeneral, RefusesWhatCannotBe) {
  EXPECT_THAT(message_of([] { import(""); }), HasSubstr("no requests"));
  EXPECT_THAT(message_of([] { import(std::string(25, 'x')); }), HasSubstr("record 2 is cut off"));
  for (const std::uint32_t bytes : {0u, 256u, 3000u, 4u << 20}) {
    OracleImportOptions options;
    options.page_bytes = bytes;
    EXPECT_THAT(message_of([&] { import(encode({1}), options); }), HasSubstr("allowed: a power of two"));
  }
  OracleImportOptions none;
  none.touches_per_kernel = 0;
  EXPECT_THAT(message_of([&] { import(encode({1}), none); }), HasSubstr("touches per kernel"));
  EXPECT_THAT(message_of([] { OracleImporter importer("-"); }), HasSubstr("read twice"));
}

// Reference policies, as simple as can be. Capacity in pages, the cache empty at the start.
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

// The streams and miss counts of libCacheSim's own policies that this project's policies are checked against.
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

// Requests that repeat the one before are left out on the way, and they are hits under every policy.
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
