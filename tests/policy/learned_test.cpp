// SPDX-License-Identifier: Apache-2.0
// Learned policies: weights that make them equal known policies, and files that hold no valid weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "policies/evict/learned_reuse_weights.h"
#include "policies/prefetch/learned_ahead_weights.h"
#include "sim/common/error.h"
#include "tests/engine/program.h"
#include "tests/folder.h"

namespace uvmsim::policy {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Learned : public ::testing::Test {
 protected:
  std::string file_of(const std::string& name, std::size_t count, const std::function<int(std::size_t)>& weight) {
    std::string lines;
    for (std::size_t i = 0; i < count; ++i) lines += std::to_string(weight(i)) + "\n";
    return folder_.write(name, lines);
  }
  Folder folder_{"learned"};
};

// Returns a program that cycles over more blocks than there are chunks, with one kernel per block.
Program cyclic_scan(unsigned blocks, unsigned rounds) {
  Program program;
  std::vector<trace::ObjectId> objects;
  for (unsigned b = 0; b < blocks; ++b) objects.push_back(program.alloc(kBlockBytes));
  for (const trace::ObjectId object : objects) program.host(object);
  for (unsigned round = 0; round < rounds; ++round) {
    for (const trace::ObjectId object : objects) program.walk("k", object, 0, 1);
  }
  program.sync();
  return program;
}

// Weights that depend on age alone: the policy evicts the least recently used chunk, as LRU does, or the most recently
// used, as MRU does.
TEST_F(Learned, ReuseByAgeIsLruOrItsOpposite) {
  constexpr std::size_t kBuckets = 20;  // buckets of the age, and as many of the gap
  const auto by_age = [](int sign) {
    return [sign](std::size_t i) {
      return i == 0 || i > kBuckets * kBuckets ? 0 : sign * static_cast<int>((i - 1) / kBuckets);
    };
  };
  const Program program = cyclic_scan(3, 6);
  RunOptions options = options_with(2);  // the ages of two chunks never lie in one bucket
  const auto misses = [&] { return program.run(options).counters.evictions; };
  options.evict = {"lru", {}};
  const std::uint64_t lru = misses();
  EXPECT_EQ(lru, 3u * 6 - 2) << "a cyclic scan misses always";
  options.evict = {"learned_reuse",
                   {{"weights", file_of("lru", std::size(kReuseWeights), by_age(1))}, {"sample", "4096"}}};
  EXPECT_EQ(misses(), lru);
  options.evict.parameters.front().second = file_of("mru", std::size(kReuseWeights), by_age(-1));
  EXPECT_LT(misses(), lru);
}

TEST_F(Learned, AheadThatNeverSaysYesIsTheTree) {
  Program program;
  const auto data = program.alloc(8 * kBlockBytes);
  program.host(data);
  program.kernel("k", 1'000'000, {data});
  program.sync();
  RunOptions options = options_with(16);
  const auto prefetched = [&] { return program.run(options).counters.prefetched_pages; };
  options.prefetch = {"tree", {}};
  const std::uint64_t tree = prefetched();
  options.prefetch = {"learned_ahead", {{"weights", file_of("no", std::size(kAheadWeights), [](auto) { return -1; })}}};
  EXPECT_EQ(prefetched(), tree);
  options.prefetch.parameters.front().second = file_of("yes", std::size(kAheadWeights), [](auto) { return 1; });
  EXPECT_GT(prefetched(), tree);
}

TEST_F(Learned, TheBuiltInWeightsFromAFileAreTheBuiltInOnes) {
  const Program program = cyclic_scan(9, 3);
  RunOptions options = options_with(4);
  options.evict = {"learned_reuse", {}};
  options.prefetch = {"learned_ahead", {}};
  const Nanoseconds built_in = program.run(options).total;
  options.evict.parameters = {
      {"weights", file_of("r", std::size(kReuseWeights), [](auto i) { return kReuseWeights[i]; })}};
  options.prefetch.parameters = {
      {"weights", file_of("a", std::size(kAheadWeights), [](auto i) { return kAheadWeights[i]; })}};
  EXPECT_EQ(program.run(options).total, built_in);
}

TEST_F(Learned, FilesThatAreNoWeightsAreRefused) {
  const Program program = cyclic_scan(2, 1);
  RunOptions options = options_with(4);
  const auto error_of = [&](const std::string& file) -> std::string {
    options.evict = {"learned_reuse", {{"weights", file}}};
    try {
      program.run(options);
    } catch (const InputError& error) {
      return error.what();
    }
    return "none";
  };
  const std::string count = std::to_string(std::size(kReuseWeights));
  EXPECT_THAT(error_of(folder_.write("few", "1\n2\n")), HasSubstr("2 lines; allowed: " + count));
  EXPECT_THAT(error_of(folder_.write("text", "1\nx\n")),
              AllOf(HasSubstr("line 2 is no weight"), HasSubstr("from -1048576 to 1048576")));
  EXPECT_THAT(error_of(folder_.write("large", "99999999999999999999\n")), HasSubstr("line 1 is no weight"));
  EXPECT_THAT(error_of(file_of("many", std::size(kReuseWeights) + 1, [](auto) { return 0; })),
              HasSubstr("more than " + count + " lines"));
  EXPECT_THAT(error_of("/no/such/file"), HasSubstr("/no/such/file"));
}

}  // namespace
}  // namespace uvmsim::policy
