// SPDX-License-Identifier: Apache-2.0
// Both allocator models against the plain reference, on random programs under every setting.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "sim/common/error.h"
#include "sim/layout/caching_allocator.h"
#include "sim/layout/expandable_allocator.h"
#include "tests/layout/reference_allocator.h"

namespace uvmsim::layout::random_history_test {
namespace {

constexpr std::uint64_t kMiB = ReferenceAllocator::kMiB;
constexpr std::uint64_t kCell = ReferenceAllocator::kCell;

struct Setting {
  const char* name;
  bool expandable;
  AllocatorSettings settings;
};

std::vector<Setting> settings() {
  const std::uint64_t split = 24 * kMiB;
  const std::uint64_t rounding = 20 * kMiB;
  const std::uint64_t endless = std::uint64_t{1} << 46;
  return {
      {"default", false, {}},
      {"max split", false, {split, rounding, 0, 0, 0, endless}},
      {"limit", false, {0, rounding, 0, 400 * kMiB, 0, endless}},
      {"limit, max split", false, {split, rounding, 0, 400 * kMiB, 0, endless}},
      {"garbage collection", false, {0, rounding, 0, 480 * kMiB, 0.6, endless}},
      {"all", false, {split, rounding, 0, 440 * kMiB, 0.7, endless}},
      {"expandable", true, {0, rounding, 0, 0, 0, 640 * kMiB}},
      {"expandable, limit", true, {0, rounding, 0, 400 * kMiB, 0, 640 * kMiB}},
      {"expandable, short reservations", true, {0, rounding, 0, 400 * kMiB, 0, 60 * kMiB}},
  };
}

// Counts the cases that occurred, so that no test passes without any.
struct Met {
  std::uint64_t placed = 0, released = 0, out_of_memory = 0;
};

void play(const Setting& setting, unsigned seed, Met& met) {
  SCOPED_TRACE(::testing::Message() << setting.name << ", seed " << seed);
  std::unique_ptr<TensorAllocator> model;
  if (setting.expandable) model = std::make_unique<ExpandableAllocator>(setting.settings);
  if (!setting.expandable) model = std::make_unique<CachingAllocator>(setting.settings);
  ReferenceAllocator reference(setting.settings, setting.expandable);
  std::mt19937 random(seed);
  struct Live {
    std::uint64_t of_model, of_reference;
  };
  std::vector<Live> live;
  const auto free_one = [&](std::size_t i) {
    model->free(live[i].of_model);
    reference.free(live[i].of_reference);
    live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
  };
  const auto released_bytes = [&] {
    std::uint64_t bytes = 0;
    for (const TensorAllocator::Range& range : model->released()) bytes += range.bytes;
    return bytes;
  };
  for (int step = 0; step < 300; ++step) {
    const std::uint64_t what = random() % 100;
    if (what < 42 && !live.empty()) {
      free_one(random() % live.size());
      continue;
    }
    if (what == 99) {
      model->empty_cache();
      reference.released = 0;
      reference.release_all();
    } else {
      const std::uint64_t limits[] = {16, 16, 170, 400, 800};  // small, shared segments, own ones, oversize ones
      const std::uint64_t bytes = (1 + random() % limits[random() % 5]) * kCell;
      const auto stream = static_cast<std::uint32_t>(random() % 4 == 0);
      const auto expected = reference.allocate(bytes, stream);
      if (!expected) {
        ASSERT_THROW(model->allocate(bytes, stream), InputError) << "step " << step;
        ++met.out_of_memory;
        return;
      }
      TensorAllocator::Placed placed;
      ASSERT_NO_THROW(placed = model->allocate(bytes, stream)) << "step " << step;
      ASSERT_EQ(placed.segment, expected->segment) << "step " << step << ", " << bytes / kCell << " cells";
      ASSERT_EQ(placed.offset, expected->offset) << "step " << step;
      ASSERT_EQ(placed.bytes, expected->bytes) << "step " << step;
      live.push_back({placed.id, expected->id});
      ++met.placed;
    }
    ASSERT_EQ(released_bytes(), reference.released) << "step " << step;
    ASSERT_EQ(model->reserved_bytes(), reference.reserved()) << "step " << step;
    ASSERT_EQ(model->allocated_bytes(), reference.in_use()) << "step " << step;
    met.released += reference.released;
  }
  // Everything is merged and returned.
  while (!live.empty()) free_one(live.size() - 1);
  EXPECT_EQ(model->allocated_bytes(), 0u);
  model->empty_cache();
  EXPECT_EQ(model->reserved_bytes(), 0u);
}

TEST(AllocatorHistories, EqualThoseOfThePlainReference) {
  for (const Setting& setting : settings()) {
    Met met;
    for (unsigned seed = 1; seed <= 6; ++seed) {
      play(setting, seed, met);
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(met.placed, 700u) << setting.name;
    EXPECT_GT(met.released, 0u) << setting.name;
    EXPECT_EQ(met.out_of_memory != 0, setting.settings.memory_limit_bytes != 0) << setting.name;
  }
}

}  // namespace
}  // namespace uvmsim::layout::random_history_test
