// SPDX-License-Identifier: Apache-2.0
// Bytes written once and kept: a change of the format cannot happen unnoticed.
//
// To accept one on purpose: `uvmsim trace pack tests/trace/golden.jsonl --no-validate -o tests/trace/golden.uvmt`, and
// raise Header::minor or major as uvmtrace.proto says. Keep the files of the version before under their version's name.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/trace/samples.h"

namespace uvmsim::trace {
namespace {

std::string file(const std::string& name) {
  std::ifstream in(UVMSIM_SOURCE_DIR "/tests/trace/" + name, std::ios::binary);
  EXPECT_TRUE(in.good()) << name;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(Golden, JsonLines) {
  EXPECT_TRUE(encode({sample_header(), sample_records()}, TraceFormat::kJsonLines) == file("golden.jsonl"));
}

TEST(Golden, Messages) {
  // The compressed bytes depend on the version of libzstd, their content does not.
  EXPECT_TRUE(decompress(encode({sample_header(), sample_records()}, TraceFormat::kUvmt)) ==
              decompress(file("golden.uvmt")));
}

// Removes records that a file before minor version 4 cannot hold: the last of the samples is system memory.
void before_minor_4(std::vector<Record>& records) { records.pop_back(); }

// Removes records that a file before minor version 3 cannot hold.
void before_minor_3(std::vector<Record>& records) {
  before_minor_4(records);
  for (Record& record : records) {
    if (auto* set = std::get_if<Memset>(&record)) set->blocking = false;
  }
}

// Files of minor version 0 have no unknown accesses, order and counts, nor anything that later versions added.
TEST(Golden, MinorVersion0IsRead) {
  auto expected = sample_records();
  before_minor_3(expected);
  expected.pop_back();  // the kernel of tensor maps
  for (Record& record : expected) {
    if (auto* kernel = std::get_if<Kernel>(&record)) {
      kernel->unknown_accesses = 0;
      kernel->order.clear();
      kernel->counts.clear();
    }
  }
  for (const char* name : {"golden_1_0.jsonl", "golden_1_0.uvmt"}) {
    const Trace found = decode(file(name));
    ASSERT_EQ(found.records.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(same(found.records[i], expected[i])) << name << " record " << i + 1;
    }
  }
}

// Files of minor version 1 have no kernel with tensor maps, which is the last of the remaining samples.
TEST(Golden, MinorVersion1IsRead) {
  auto expected = sample_records();
  before_minor_3(expected);
  for (const char* name : {"golden_1_1.jsonl", "golden_1_1.uvmt"}) {
    const Trace found = decode(file(name));
    ASSERT_EQ(found.records.size() + 1, expected.size());
    for (std::size_t i = 0; i < found.records.size(); ++i) {
      EXPECT_TRUE(same(found.records[i], expected[i])) << name << " record " << i + 1;
    }
  }
}

// Files of minor version 2 do not record whether the host waits for a memset.
TEST(Golden, MinorVersion2IsRead) {
  auto expected = sample_records();
  before_minor_3(expected);
  for (const char* name : {"golden_1_2.jsonl", "golden_1_2.uvmt"}) {
    const Trace found = decode(file(name));
    ASSERT_EQ(found.records.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(same(found.records[i], expected[i])) << name << " record " << i + 1;
    }
  }
}

// Files of minor version 3 have no system memory.
TEST(Golden, MinorVersion3IsRead) {
  auto expected = sample_records();
  before_minor_4(expected);
  for (const char* name : {"golden_1_3.jsonl", "golden_1_3.uvmt"}) {
    const Trace found = decode(file(name));
    ASSERT_EQ(found.records.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(same(found.records[i], expected[i])) << name << " record " << i + 1;
    }
  }
}

TEST(Golden, FilesAreRead) {
  for (const char* name : {"golden.jsonl", "golden.uvmt"}) {
    const Trace found = decode(file(name));
    EXPECT_TRUE(same(found.header, sample_header()));
    const auto expected = sample_records();
    ASSERT_EQ(found.records.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(same(found.records[i], expected[i])) << name << " record " << i + 1;
    }
  }
}

}  // namespace
}  // namespace uvmsim::trace
