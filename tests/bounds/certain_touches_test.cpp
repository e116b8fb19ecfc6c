// What the bounds take for touched, against the engine's own walk through every unit and step.
#include "sim/bounds/certain_touches.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "sim/common/random.h"
#include "sim/engine/step_pages.h"
#include "tests/engine/program.h"

namespace uvmsim {
namespace {

using engine::KernelWork;
using engine::Operand;
using engine::PageRange;
using engine::PageRun;
using engine::Section;

// What each unit of the section walks through, as KernelRun::plan_shares() has it.
std::vector<PageRange> shares_of(const KernelWork& work, const Section& section, std::uint64_t unit) {
  std::vector<PageRange> shares(section.operands.size());
  if (work.pattern == engine::Pattern::kTiles) {
    engine::plan_marches(work, section, unit, shares.data());
  } else if (work.pattern == engine::Pattern::kSlices) {
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const std::uint64_t pages = section.operands[i].pages;
      shares[i] = {pages * unit / section.units, (pages * (unit + 1) + section.units - 1) / section.units};
    }
  }
  return shares;
}

struct Visited {
  std::set<std::uint64_t>* pages;
  bool passes(const Operand&, std::uint64_t, std::uint64_t) const { return false; }
  void operator()(const PageRun& run, std::uint32_t, bool) const {
    for (unsigned i = 0; i < run.count; ++i) pages->insert(run.block.value * kPagesPerBlock + run.first + i);
  }
};

TEST(CertainTouches, AreAllVisited) {
  Random random(31);
  unsigned certain = 0, left_out = 0;
  for (unsigned instance = 0; instance < 500; ++instance) {
    AddressSpace space(1);
    layout::Layout layout("none", space);
    trace::Kernel kernel;
    kernel.duration_ns = 100000;
    kernel.distribution = static_cast<trace::Distribution>(random.below(4));
    kernel.block = {32u << random.below(6), random.below(3) == 0 ? 2u : 1u, 1};
    kernel.grid = {static_cast<std::uint32_t>(1 + random.below(random.below(2) == 0 ? 6 : 300)),
                   static_cast<std::uint32_t>(1 + random.below(4)), static_cast<std::uint32_t>(1 + random.below(2))};
    kernel.bytes_per_thread_access = 4;
    for (trace::ObjectId id = 1; id <= 1 + random.below(3); ++id) {
      const std::uint64_t pages = 1 + random.below(random.below(2) == 0 ? 20 : 4000);
      layout.allocate(trace::ObjectAlloc{id, trace::ObjectKind::kManaged, pages * kBasePageBytes, 0, 0});
      kernel.accesses.push_back({id, {{0, pages, static_cast<trace::AccessMode>(1 + random.below(3))}}});
    }
    config::SystemConfig system = plain_system();
    system.gpus[0].sm_count = static_cast<std::uint32_t>(1 + random.below(20));
    KernelWork work = engine::plan_kernel(kernel, 4096, layout, system, std::uint64_t{1} << 40);
    for (Section& section : work.sections) {
      for (std::uint32_t i = 0; i < section.operands.size(); ++i) {
        const Operand& operand = section.operands[i];
        engine::watch(section, [&](const Operand& other) { return &other == &operand; });
        std::set<std::uint64_t> pages;
        for (std::uint64_t unit = 0; unit < section.units; ++unit) {
          const std::vector<PageRange> shares = shares_of(work, section, unit);
          for (std::uint32_t step = 0; step < section.steps; ++step) {
            engine::for_each_page(work, section, unit, step, operand.write, shares.data(), Visited{&pages});
          }
        }
        const bool claimed = bounds::touches_every_page(work, section, operand);
        (claimed ? certain : left_out) += 1;
        if (claimed) {
          ASSERT_EQ(pages.size(), operand.pages) << "instance " << instance << ", operand " << i;
        }
      }
    }
  }
  EXPECT_GT(certain, 10 * left_out);
  EXPECT_GT(left_out, 0u);
}

// A kernel that faults is played in whole nanoseconds per step; it takes no less than what these add up to.
TEST(CertainTouches, LeastDurationIsTheDurationButForRounding) {
  KernelWork work;
  work.lanes = 10;
  work.step = Nanoseconds(333);  // of 1000 / 3
  work.sections.resize(1);
  work.sections[0].units = 10;
  work.sections[0].steps = 3;
  EXPECT_EQ(bounds::least_duration_ns(work, 1000), 999);
  work.sections[0].units = 11;  // a second round for one unit
  EXPECT_EQ(bounds::least_duration_ns(work, 1000), 1000);
  work.step = Nanoseconds(0);
  EXPECT_EQ(bounds::least_duration_ns(work, 1000), 0);
}

}  // namespace
}  // namespace uvmsim
