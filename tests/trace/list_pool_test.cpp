// SPDX-License-Identifier: Apache-2.0
// Lists that kernels share.
#include "sim/trace/list_pool.h"

#include <gtest/gtest.h>

#include <sstream>

#include "sim/common/random.h"
#include "sim/trace/reader.h"
#include "sim/trace/writer.h"
#include "tests/trace/samples.h"

namespace uvmsim::trace {
namespace {

std::vector<Phase> phases_from(std::uint64_t seed) {
  Random random(seed);
  std::vector<Phase> phases(1 + random.below(4));
  for (Phase& phase : phases) {
    phase = {random.below(100), random.below(100), {}};
    phase.accesses.resize(random.below(3));
    for (PhaseAccess& access : phase.accesses) {
      access.slot = static_cast<std::uint32_t>(random.below(5));
      access.extents = {{random.below(9), 1 + random.below(9), AccessMode::kRead}};
    }
  }
  return phases;
}

TEST(PhaseList, CopiesShareUntilOneIsEdited) {
  PhaseList list = phases_from(1);
  PhaseList copy = list;
  EXPECT_EQ(copy.identity(), list.identity());
  copy.edit().push_back({7, 7, {}});
  EXPECT_NE(copy.identity(), list.identity());
  EXPECT_EQ(copy.size(), list.size() + 1);
  EXPECT_EQ(copy.back(), (Phase{7, 7, {}}));
  const void* own = copy.identity();
  copy.edit().pop_back();
  EXPECT_EQ(copy.identity(), own);  // not shared
  EXPECT_TRUE(std::equal(list.begin(), list.end(), copy.begin(), copy.end()));
}

TEST(PhaseList, EmptyListsHaveNoIdentity) {
  PhaseList list = std::vector<Phase>();
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.begin(), list.end());
  EXPECT_EQ(list.identity(), nullptr);
  list.edit().push_back({});
  list.clear();
  EXPECT_EQ(list.identity(), nullptr);
}

TEST(PhasePool, FindsWhatIsInUse) {
  PhasePool pool;
  std::vector<PhaseList> kept;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    kept.push_back(pool.find(phases_from(seed)));  // removes unused lists
  }
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const std::vector<Phase> phases = phases_from(seed);
    const PhaseList found = pool.find(phases);
    EXPECT_TRUE(std::equal(found.begin(), found.end(), phases.begin(), phases.end())) << seed;
    EXPECT_EQ(found.identity(), kept[seed].identity()) << seed;
  }
}

// Edited lists are no longer found under their old content.
TEST(PhasePool, EditsAreNotFound) {
  PhasePool pool;
  PhaseList first = pool.find(phases_from(1));
  PhaseList second = pool.find(phases_from(1));
  second.edit().push_back({});
  EXPECT_EQ(first.identity(), pool.find(phases_from(1)).identity());
  EXPECT_EQ(first.size() + 1, second.size());
}

// Kernels of a file that have equal phases share them, also across frames and records of other kinds.
TEST(PhasePool, KernelsOfAFileShare) {
  std::vector<Kernel> kernels;
  std::string file;
  {
    Trace trace{Header{}, {ObjectAlloc{1, ObjectKind::kManaged, 1 << 20}}};
    for (std::uint64_t i = 0; i < 40; ++i) {
      Kernel kernel;
      kernel.accesses = {{1, {{0, 64, AccessMode::kRead}}}};
      kernel.phases = {{i % 2, 1, {{0, {{0, 32, AccessMode::kRead}}}}}};
      trace.records.emplace_back(kernel);
    }
    file = encode(trace, TraceFormat::kUvmt);
  }
  for (const Record& record : decode(file).records) {
    if (const auto* kernel = std::get_if<Kernel>(&record)) kernels.push_back(*kernel);
  }
  ASSERT_EQ(kernels.size(), 40u);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    EXPECT_EQ(kernels[i].phases[0].first_block, i % 2);
    EXPECT_EQ(kernels[i].phases.identity(), kernels[i % 2].phases.identity()) << i;
    EXPECT_EQ(kernels[i].accesses[0].extents.identity(), kernels[0].accesses[0].extents.identity()) << i;
  }
}

}  // namespace
}  // namespace uvmsim::trace
