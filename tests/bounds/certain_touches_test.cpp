// SPDX-License-Identifier: Apache-2.0
// The pages that the bounds assume to be touched, compared with the engine's own walk through every unit and step.
#include "sim/bounds/certain_touches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "sim/common/random.h"
#include "sim/engine/step_pages.h"
#include "sim/trace/kernel_names.h"
#include "tests/engine/program.h"

namespace uvmsim {
namespace {

using engine::KernelWork;
using engine::Operand;
using engine::PageRange;
using engine::PageRun;
using engine::Section;
using engine::SectionRun;

// Returns the shares of a unit of the section, as KernelRun::plan_shares() computes them.
std::vector<engine::Share> shares_of(const KernelWork& work, const SectionRun& section, std::uint64_t unit) {
  std::vector<engine::Share> shares(section.operands.size());
  if (work.pattern == engine::Pattern::kTiles) {
    engine::plan_marches(work, section, unit, shares.data());
  } else if (work.pattern == engine::Pattern::kSlices) {
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const std::uint64_t pages = section.operands[i].pages;
      const PageRange share{pages * unit / section.units, (pages * (unit + 1) + section.units - 1) / section.units};
      shares[i] = {share, section.operands[i].index_of(share)};
    }
  }
  return shares;
}

struct Visited {
  std::set<std::uint64_t>* pages;
  bool passes(const Operand&, const engine::Share&) const { return false; }
  void operator()(const PageRun& run, std::uint32_t, engine::Reach) const {
    for (unsigned i = 0; i < run.count; ++i) pages->insert(run.block.value * kPagesPerBlock + run.first + i);
  }
};

std::set<std::uint64_t> visited_pages(const KernelWork& work) {
  std::set<std::uint64_t> pages;
  for (const Section& plan : work.sections) {
    SectionRun section(plan);
    section.watch([](std::uint32_t) { return true; });
    for (std::uint64_t unit = 0; unit < section.units; ++unit) {
      const std::vector<engine::Share> shares = shares_of(work, section, unit);
      for (std::uint32_t step = 0; step < section.steps; ++step) {
        for (const bool stores : {false, true}) {
          engine::for_each_page(work, section, unit, step, stores, shares.data(), Visited{&pages});
        }
      }
    }
  }
  return pages;
}

trace::Kernel random_kernel(Random& random) {
  trace::Kernel kernel;
  kernel.duration_ns = 100000;
  kernel.distribution = static_cast<trace::Distribution>(random.below(4));
  kernel.block = {32u << random.below(6), random.below(3) == 0 ? 2u : 1u, 1};
  kernel.grid = {static_cast<std::uint32_t>(1 + random.below(random.below(2) == 0 ? 6 : 300)),
                 static_cast<std::uint32_t>(1 + random.below(4)), static_cast<std::uint32_t>(1 + random.below(2))};
  kernel.bytes_per_thread_access = 4;
  constexpr std::array kNames{"", "", "fft2d_r2c_16x16", "fft2d_r2c_32x32", "nchwToNhwcKernel"};
  kernel.name = kNames[random.below(kNames.size())];
  return kernel;
}

// A kernel that transposes a tensor has as many tiles as its largest object.
void fit_grid(trace::Kernel& kernel) {
  if (!trace::image_per_z_by_name(kernel.name)) return;
  std::uint64_t pages = 0;
  for (const trace::ObjectAccess& access : kernel.accesses) pages = std::max(pages, access.extents.front().count);
  constexpr std::uint64_t kSide = engine::Transposition::kTileSide;
  const std::uint64_t pixels = pages * kBasePageBytes / 4 / kernel.grid.z / kernel.grid.y / kSide;
  kernel.grid.x = static_cast<std::uint32_t>(std::max<std::uint64_t>(1, engine::Transposition::tiles(pixels)));
}

// The test covers any content of the pages that the kernel both reads and writes.
TEST(CertainTouches, AreAllVisited) {
  Random random(31);
  std::size_t claimed = 0, visited = 0;
  for (unsigned instance = 0; instance < 250; ++instance) {
    AddressSpace nothing(1), something(1), everything(1);
    layout::Layout layout("none", nothing);
    trace::Kernel kernel = random_kernel(random);
    for (trace::ObjectId id = 1; id <= 1 + random.below(3); ++id) {
      const std::uint64_t pages = 1 + random.below(random.below(2) == 0 ? 20 : 4000);
      layout.allocate(trace::ObjectAlloc{id, trace::ObjectKind::kManaged, pages * kBasePageBytes, 0, 0});
      kernel.accesses.push_back({id, {{0, pages, static_cast<trace::AccessMode>(1 + random.below(3))}}});
    }
    fit_grid(kernel);
    while (something.block_count() < nothing.block_count()) {
      everything.pages(everything.allocate(0, kBlockBytes), kHost).resident = PageMask::all();
      PageMask& some = something.pages(something.allocate(0, kBlockBytes), kHost).resident;
      if (random.below(2) == 0) some = PageMask::all();
    }
    config::SystemConfig system = plain_system();
    system.gpus[0].sm_count = static_cast<std::uint32_t>(1 + random.below(20));
    const auto plan = [&](const AddressSpace& space) {
      return engine::plan_kernel(kernel, 4096, layout, &space, system, std::uint64_t{1} << 40, 0);
    };
    const KernelWork none = plan(nothing), all = plan(everything);
    const bounds::CertainTouches touches(kernel, none, all);
    std::set<std::uint64_t> certain;
    touches.for_each_segment([&](const engine::Segment& segment) {
      for (unsigned i = 0; i < segment.count; ++i) {
        certain.insert(segment.block.value * kPagesPerBlock + segment.first + i);
      }
    });
    for (const KernelWork& played : {none, plan(something), all}) {
      const std::set<std::uint64_t> pages = visited_pages(played);
      ASSERT_TRUE(std::includes(pages.begin(), pages.end(), certain.begin(), certain.end())) << "instance " << instance;
      visited += pages.size();
      claimed += certain.size();
    }
  }
  EXPECT_GT(claimed * 100, visited * 95);
}

// The engine leaves pages out of a small result of large slices; the bounds then claim none of them.
TEST(CertainTouches, ClaimNothingOfAnOutputWithHoles) {
  AddressSpace nothing(1);
  layout::Layout layout("none", nothing);
  layout.allocate(trace::ObjectAlloc{1, trace::ObjectKind::kManaged, 4000 * kBasePageBytes, 0, 0});
  layout.allocate(trace::ObjectAlloc{2, trace::ObjectKind::kManaged, 40 * kBasePageBytes, 0, 0});
  trace::Kernel kernel;
  kernel.duration_ns = 100000;
  kernel.grid = {4, 1, 1};
  kernel.block = {64, 1, 1};
  kernel.accesses = {{1, {{0, 4000, trace::AccessMode::kRead}}}, {2, {{0, 40, trace::AccessMode::kWrite}}}};
  const KernelWork work =
      engine::plan_kernel(kernel, 4096, layout, &nothing, plain_system(), std::uint64_t{1} << 40, 0);
  ASSERT_LT(visited_pages(work).size(), 4040u);
  std::uint64_t claimed = 0;
  bounds::CertainTouches(kernel, work, work).for_each_segment([&](const engine::Segment& s) { claimed += s.count; });
  EXPECT_EQ(claimed, 4000u);
}

// A kernel that faults is replayed in whole nanoseconds per step; it takes at least the sum of these.
TEST(CertainTouches, LeastDurationIsTheDurationButForRounding) {
  trace::Kernel kernel;
  kernel.duration_ns = 1000;
  KernelWork work;
  work.resident_units = 10;
  work.step = Nanoseconds(333);  // of 1000 / 3
  work.sections.resize(1);
  work.sections[0].units = 10;
  work.sections[0].steps = 3;
  EXPECT_EQ(bounds::CertainTouches(kernel, work, work).least_duration_ns(), 999);
  KernelWork longer = work;
  longer.sections[0].units = 11;  // a second round for one unit
  EXPECT_EQ(bounds::CertainTouches(kernel, longer, longer).least_duration_ns(), 1000);
  EXPECT_EQ(bounds::CertainTouches(kernel, longer, work).least_duration_ns(), 999);
  work.step = Nanoseconds(0);
  EXPECT_EQ(bounds::CertainTouches(kernel, work, longer).least_duration_ns(), 0);
}

}  // namespace
}  // namespace uvmsim
