// SPDX-License-Identifier: Apache-2.0
// Compares the pages that must cross the links with a search through every content of GPU memory (docs/policies.md:
// properties V3, V5; kernels as unordered sets of pages).
#include "sim/bounds/windows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/bounds/small_instance.h"
#include "tests/engine/program.h"

namespace uvmsim {
namespace {

using bounds::Action;

constexpr std::uint64_t kNever = 1000;

// Returns the least pages moved to the GPU (or, with `out`, from it) after each step from `base` on, by considering
// every content of GPU memory. Before `base` any actions may have happened that leave pages only where the program has
// some.
std::vector<std::uint64_t> searched(const SmallProgram& program, unsigned pages, unsigned frames, std::size_t base,
                                    bool out) {
  std::vector<std::uint64_t> best(std::size_t{1} << pages, kNever);
  PageSet live = 0;  // on the host or a GPU
  for (std::size_t i = 0; i < base; ++i) {
    live = program[i].action == Action::kFree ? live & ~program[i].pages : live | program[i].pages;
  }
  for (PageSet content = 0; content < best.size(); ++content) {
    if ((content & ~live) == 0 && size_of(content) <= frames && (base != 0 || content == 0)) best[content] = 0;
  }
  std::vector<std::uint64_t> moved;
  for (std::size_t i = base; i < program.size(); ++i) {
    const PageSet set = program[i].pages;
    std::vector<std::uint64_t> next(best.size(), kNever);
    for (PageSet before = 0; before < best.size(); ++before) {
      if (best[before] == kNever) continue;
      if (program[i].action != Action::kUse) {
        const bool taken = program[i].action == Action::kHostTouch;
        std::uint64_t& cost = next[before & ~set];
        cost = std::min(cost, best[before] + (out && taken ? size_of(before & set) : 0));
        continue;
      }
      const std::uint64_t loads = size_of(set & live & ~before);
      const PageSet all = before | set;
      for (PageSet after = all;; after = (after - 1) & all) {  // every subset
        if (size_of(after) <= frames) {
          next[after] = std::min(next[after], best[before] + (out ? size_of(all & ~after) : loads));
        }
        if (after == 0) break;
      }
    }
    live = program[i].action == Action::kFree ? live & ~set : live | set;
    best = next;
    moved.push_back(*std::min_element(best.begin(), best.end()));
  }
  return moved;
}

SmallProgram random_small_program(Random& random, unsigned pages) {
  SmallProgram program;
  for (std::uint64_t n = 3 + random.below(8); n > 0; --n) {
    SmallStep step;
    const std::uint64_t kind = random.below(10);
    step.action = kind == 0 ? Action::kFree : kind <= 2 ? Action::kHostTouch : Action::kUse;
    step.pages = random_set(random, pages);
    program.push_back(step);
  }
  return program;
}

bounds::Steps steps_of(const SmallProgram& program) {
  return bounds::cut_into_steps(to_program(program), system_without_thrashing(plain_system()));
}

TEST(Windows, LoadsOfEveryPrefixAreThoseThatSearchFinds) {
  Random random(11);
  for (unsigned instance = 0; instance < 3000; ++instance) {
    const auto pages = static_cast<unsigned>(2 + random.below(5));
    const auto frames = static_cast<unsigned>(1 + random.below(pages));
    const SmallProgram program = random_small_program(random, pages);
    const bounds::Steps steps = steps_of(program);
    ASSERT_EQ(steps.steps.size(), program.size());
    for (const std::size_t base : {std::size_t{0}, static_cast<std::size_t>(1 + random.below(program.size() - 1))}) {
      ASSERT_EQ(bounds::count_window(steps, base, frames).pages_in, searched(program, pages, frames, base, false))
          << "instance " << instance << ", from step " << base;
    }
  }
}

TEST(Windows, WriteBacksAreNeverMoreThanSearchNeedsAndExactAtTheEnd) {
  Random random(12);
  for (unsigned instance = 0; instance < 3000; ++instance) {
    const auto pages = static_cast<unsigned>(2 + random.below(5));
    const auto frames = static_cast<unsigned>(1 + random.below(pages));
    const SmallProgram program = random_small_program(random, pages);
    const bounds::Steps steps = steps_of(program);
    for (const std::size_t base : {std::size_t{0}, static_cast<std::size_t>(1 + random.below(program.size() - 1))}) {
      const std::vector<std::uint64_t> counted = bounds::count_window(steps, base, frames).pages_out;
      const std::vector<std::uint64_t> found = searched(program, pages, frames, base, true);
      ASSERT_EQ(counted.size(), found.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_LE(counted[i], found[i]) << "instance " << instance << ", steps " << base << " to " << base + i;
      }
      ASSERT_EQ(counted.back(), found.back()) << "instance " << instance << ", from step " << base;
    }
  }
}

// L kernels that each sweep N pages of the host with room for C take N + (L - 1)(N - C) loads.
TEST(Windows, SweepsHaveAClosedForm) {
  SmallProgram program = {{Action::kHostTouch, 0x3ff, 0}};
  for (unsigned i = 0; i < 5; ++i) program.push_back({Action::kUse, 0x3ff, 0});
  const bounds::Window window = bounds::count_window(steps_of(program), 0, 7);
  EXPECT_EQ(window.pages_in.back(), 10u + 4 * (10 - 7));
  EXPECT_EQ(window.pages_out.back(), 5u * (10 - 7));
  // A window from the end of the second sweep on may begin with the best part of the program on the GPU.
  EXPECT_EQ(bounds::count_window(steps_of(program), 3, 7).pages_in.back(), 3u * (10 - 7));
}

TEST(Windows, MoreMemoryNeverMovesMore) {
  Random random(13);
  for (unsigned instance = 0; instance < 200; ++instance) {
    const SmallProgram program = random_small_program(random, 6);
    const bounds::Steps steps = steps_of(program);
    for (unsigned frames = 1; frames < 6; ++frames) {
      const bounds::Window less = bounds::count_window(steps, 0, frames);
      const bounds::Window more = bounds::count_window(steps, 0, frames + 1);
      for (std::size_t i = 0; i < program.size(); ++i) {
        ASSERT_LE(more.pages_in[i], less.pages_in[i]);
        ASSERT_LE(more.pages_out[i], less.pages_out[i]);
      }
    }
  }
}

}  // namespace
}  // namespace uvmsim
