// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/extract.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "tests/tracer/access/naive.h"

namespace uvmtrace::access {
namespace {

void put(std::vector<std::uint64_t>& words, std::uint64_t bit) { words[bit / 64] |= std::uint64_t{1} << bit % 64; }

TEST(Extract, EqualsTheNaiveRunsOfRandomBits) {
  std::mt19937_64 random(1);
  for (const unsigned density : {0U, 1U, 8U, 128U, 250U, 256U}) {
    for (int round = 0; round < 20; ++round) {
      std::vector<std::uint64_t> read(8, 0);
      std::vector<std::uint64_t> write(8, 0);
      NaiveSet naive(0);
      for (std::uint64_t bit = 0; bit < 512; ++bit) {
        if (random() % 256 < density) {
          put(read, bit);
          naive.touch(1000 + bit, 1);
        }
        if (random() % 256 < density) {
          put(write, bit);
          naive.touch(1000 + bit, 2);
        }
      }
      Runs runs;
      append_runs(read, write, 1000, runs);
      EXPECT_EQ(runs, naive.runs());
    }
  }
}

TEST(Extract, RunsOfEveryLengthAndPlace) {
  for (std::uint64_t first = 0; first < 130; first += 13) {
    for (std::uint64_t count = 1; count + first <= 256; count += 7) {
      std::vector<std::uint64_t> read(4, 0);
      std::vector<std::uint64_t> write(4, 0);
      for (std::uint64_t bit = first; bit < first + count; ++bit) put(write, bit);
      Runs runs;
      append_runs(read, write, 0, runs);
      EXPECT_EQ(runs, (Runs{{first, count, 2}}));
    }
  }
}

TEST(Extract, RunsGoOnFromOneChunkToTheNextOnlyWithTheSameMode) {
  const std::vector<std::uint64_t> all(2, ~std::uint64_t{0});
  const std::vector<std::uint64_t> none(2, 0);
  Runs runs;
  append_runs(all, none, 0, runs);
  append_runs(all, none, 128, runs);
  append_runs(all, all, 256, runs);
  append_runs(none, all, 512, runs);
  EXPECT_EQ(runs, (Runs{{0, 256, 1}, {256, 128, 3}, {512, 128, 2}}));
}

TEST(Extract, WordsOfPages) {
  Runs runs;
  append_runs(0x80000001U, 0x80000000U, 64, runs);
  append_runs(0xffffffffU, 0xffffffffU, 96, runs);
  append_runs(0U, 0U, 128, runs);
  EXPECT_EQ(runs, (Runs{{64, 1, 1}, {95, 33, 3}}));
}

}  // namespace
}  // namespace uvmtrace::access
