// SPDX-License-Identifier: Apache-2.0
// The core guarantees safety: an invalid answer of a policy is an error that names its slot, never a wrong result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/common/check.h"
#include "sim/policy/registry.h"
#include "tests/engine/program.h"

namespace uvmsim::policy_check_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Answers with a fixed chunk, whatever its state.
template <std::uint32_t Answer>
class Stubborn final : public policy::Evictor {
 public:
  static policy::PolicyInfo info() { return {.description = "nonsense", .source = "this test"}; }
  static policy::ParameterTable parameters() { return {}; }
  explicit Stubborn(const policy::PolicyContext&) {}
  void on_migrated(ChunkId) override {}
  void on_released(ChunkId) override {}
  ChunkId select_victim(const policy::EvictionQueries&) override { return ChunkId{Answer}; }
};

// Never has a victim.
class Idle final : public policy::Evictor {
 public:
  static policy::PolicyInfo info() { return {.description = "nothing", .source = "this test"}; }
  static policy::ParameterTable parameters() { return {}; }
  explicit Idle(const policy::PolicyContext&) {}
  void on_migrated(ChunkId) override {}
  void on_released(ChunkId) override {}
  ChunkId select_victim(const policy::EvictionQueries&) override { return {}; }
};

// Requests all pages.
class Greedy final : public policy::Prefetcher {
 public:
  static policy::PolicyInfo info() { return {.description = "all", .source = "this test"}; }
  static policy::ParameterTable parameters() { return {}; }
  explicit Greedy(const policy::PolicyContext&) {}
  PageMask prefetch(const policy::FaultedBlock&) override { return PageMask::all(); }
};

RunOptions options_of_nonsense(std::uint64_t chunks) {
  const auto registry = std::make_shared<policy::Registry>(*policy::built_ins());
  policy::add_policy<Stubborn<100000>>(*registry, "out_of_range");
  policy::add_policy<Stubborn<1>>(*registry, "second_chunk");
  policy::add_policy<Idle>(*registry, "idle");
  policy::add_policy<Greedy>(*registry, "greedy");
  RunOptions options = options_with(chunks);
  options.registry = registry;
  return options;
}

Program two_too_many() {
  Program program;
  for (trace::ObjectId id = 1; id <= 4; ++id) {
    program.alloc(kBlockBytes);
    program.kernel("fill", 1000, {}, {id});
  }
  program.sync();
  return program;
}

std::string model_error(const Program& program, const RunOptions& options) {
  try {
    program.run(options);
  } catch (const ModelError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no ModelError";
  return "";
}

TEST(PolicyCheck, AVictimOutOfRangeNamesTheSlot) {
  RunOptions options = options_of_nonsense(2);
  options.evict.name = "out_of_range";
  EXPECT_THAT(model_error(two_too_many(), options), AllOf(HasSubstr("evict policy"), HasSubstr("100000")));
}

TEST(PolicyCheck, AFoolishVictimIsObeyed) {
  RunOptions options = options_of_nonsense(2);
  options.evict.name = "second_chunk";
  Watched watched;
  EXPECT_EQ(two_too_many().run(options, &watched).counters.evictions, 2u);
  ASSERT_EQ(watched.evictions.size(), 2u);
  EXPECT_EQ(watched.evictions[0].address, 1 * kBlockBytes);
  // took the place of the first block, and is the next victim
  EXPECT_EQ(watched.evictions[1].address, 2 * kBlockBytes);
}

// If the core chose a victim instead, it would be another policy: one that evicts in the order of chunks.
TEST(PolicyCheck, AnEvictorWithoutAVictimEndsTheRun) {
  RunOptions options = options_of_nonsense(2);
  options.evict.name = "idle";
  EXPECT_EQ(model_error(two_too_many(), options),
            "evict policy 'idle' returned no victim for block 2, although root chunk 0 can be evicted");
}

TEST(PolicyCheck, APrefetcherGetsItsBlockAndNoMore) {
  Program program;
  const auto data = program.alloc(kBlockBytes + 20 * kPage);
  program.host(data);
  program.walk("touch", data, 0, 1);
  program.walk("touch", data, kPagesPerBlock, 1);
  program.sync();
  RunOptions options = options_of_nonsense(0);
  options.layout = "none";  // an exact tail
  options.prefetch.name = "greedy";
  const Counters c = program.run(options).counters;
  EXPECT_EQ(bytes_in(c), kBlockBytes + 20 * kPage);
  EXPECT_EQ(c.faulting_pages, 2u);
  EXPECT_EQ(c.cpu_faults, 2u);
  EXPECT_EQ(c.prefetched_pages, 2u * (511u + 19u));  // to the host, then to the GPU
}

}  // namespace
}  // namespace uvmsim::policy_check_test
