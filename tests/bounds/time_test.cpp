// SPDX-License-Identifier: Apache-2.0
// The chain of bounds against the fastest schedule that a search finds (property V6), and against closed forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "sim/bounds/bounds.h"
#include "tests/bounds/never_beaten.h"
#include "tests/bounds/small_instance.h"

namespace uvmsim {
namespace {

using bounds::Action;

constexpr std::int64_t kTick = 1000;

// Links that move a page in a given number of ticks each way; nothing else takes time.
config::SystemConfig system_of(std::uint64_t in_ticks, std::uint64_t out_ticks) {
  config::SystemConfig system = system_without_thrashing(plain_system());
  system.host_links[0].host_to_device = {0, 0, kBasePageBytes / in_ticks};
  system.host_links[0].device_to_host = {0, 0, kBasePageBytes / out_ticks};
  system.costs.push_gap_ns = 0;
  return system;
}

bounds::Bounds bounds_of(const SmallProgram& program, const config::SystemConfig& system, unsigned frames) {
  return bounds::compute_bounds(to_program(program), system, frames * kBasePageBytes);
}

// A machine in which a policy may at every tick fetch any page, write back any page, or wait. A page counts as touched
// by a kernel if it is in GPU memory at some time during the kernel; a frame is free again when its page has arrived at
// the host.
class Search {
 public:
  Search(SmallProgram kernels, unsigned frames, std::uint64_t in_ticks, std::uint64_t out_ticks)
      : program_(std::move(kernels)), frames_(frames), in_ticks_(in_ticks), out_ticks_(out_ticks) {}

  // Returns the ticks until the last kernel ends; at first the host has the pages `on_host`.
  std::int64_t fastest(PageSet on_host) {
    std::set<State> now;
    State first;
    first.live = on_host;
    begin_kernels(first, now);
    for (std::int64_t tick = 0;; ++tick) {
      for (const State& state : now) {
        if (state.kernel == program_.size()) return tick;
      }
      std::set<State> next;
      for (const State& state : now) act(state, next);
      now = std::move(next);
    }
  }

 private:
  struct State {
    std::size_t kernel = 0;
    std::uint64_t left = 0;  // ticks to compute
    PageSet untouched = 0;
    PageSet content = 0, live = 0;
    PageSet in = 0, out = 0;  // on the links, at most one page each
    std::uint64_t in_left = 0, out_left = 0;
    auto key() const { return std::tie(kernel, left, untouched, content, live, in, out, in_left, out_left); }
    bool operator<(const State& other) const { return key() < other.key(); }
  };

  unsigned used(const State& s) const { return size_of(s.content | s.in | s.out); }

  // Begins the next kernel, and gives frames to unpopulated pages if there are any free.
  void begin_kernels(State state, std::set<State>& to) const {
    state.left = static_cast<std::uint64_t>(program_[state.kernel].compute_ns / kTick);
    state.untouched = program_[state.kernel].pages;
    settle(state, to);
  }

  // Plays the events that take no time: touches of present pages, population, the end of a kernel.
  void settle(State state, std::set<State>& to) const {
    state.untouched &= ~state.content;
    for (PageSet page = 1; page <= state.untouched; page <<= 1) {
      if ((state.untouched & page) == 0 || (state.live & page) != 0 || used(state) >= frames_) continue;
      State populated = state;
      populated.content |= page;
      populated.live |= page;
      settle(populated, to);
    }
    if (state.left == 0 && state.untouched == 0) {
      if (++state.kernel == program_.size()) {
        to.insert(state);
      } else {
        begin_kernels(state, to);
      }
      return;
    }
    to.insert(state);
  }

  // Adds the states that follow: all choices, then a tick.
  void act(const State& state, std::set<State>& to) const {
    std::vector<State> choices = {state};
    if (state.out == 0) {
      for (PageSet page = 1; page <= state.content; page <<= 1) {
        if ((state.content & page) == 0) continue;
        State leaves = state;
        leaves.content &= ~page;
        leaves.out = page;
        leaves.out_left = out_ticks_;
        choices.push_back(leaves);
      }
    }
    const std::size_t without_fetch = choices.size();
    for (std::size_t i = 0; i < without_fetch; ++i) {
      if (choices[i].in != 0 || used(choices[i]) >= frames_) continue;
      const PageSet absent = choices[i].live & ~choices[i].content & ~choices[i].out;
      for (PageSet page = 1; page <= absent; page <<= 1) {
        if ((absent & page) == 0) continue;
        State comes = choices[i];
        comes.in = page;
        comes.in_left = in_ticks_;
        choices.push_back(comes);
      }
    }
    for (State next : choices) {
      if (next.left != 0) --next.left;
      if (next.in != 0 && --next.in_left == 0) {
        next.content |= next.in;
        next.in = 0;
      }
      if (next.out != 0 && --next.out_left == 0) next.out = 0;
      settle(next, to);
    }
  }

  SmallProgram program_;
  unsigned frames_;
  std::uint64_t in_ticks_, out_ticks_;
};

TEST(TimeBounds, AreNeverAboveTheFastestScheduleThatSearchFinds) {
  Random random(21);
  std::int64_t bound_sum = 0, fastest_sum = 0;
  unsigned reached = 0;
  constexpr unsigned kInstances = 1000;
  for (unsigned instance = 0; instance < kInstances; ++instance) {
    const auto pages = static_cast<unsigned>(2 + random.below(3));
    const auto frames = static_cast<unsigned>(1 + random.below(pages));
    const std::uint64_t in_ticks = std::uint64_t{1} << random.below(3);
    const std::uint64_t out_ticks = std::uint64_t{1} << random.below(3);
    const PageSet on_host = static_cast<PageSet>(random.below(std::uint64_t{1} << pages));
    SmallProgram kernels;
    for (std::uint64_t n = 2 + random.below(5); n > 0; --n) {
      kernels.push_back({Action::kUse, random_set(random, pages), static_cast<std::int64_t>(random.below(4)) * kTick});
    }
    SmallProgram program = kernels;
    if (on_host != 0) program.insert(program.begin(), {Action::kHostTouch, on_host, 0});
    const bounds::TimeBounds time = bounds_of(program, system_of(in_ticks, out_ticks), frames).time;
    expect_ordered(time);
    const std::int64_t fastest = Search(kernels, frames, in_ticks, out_ticks).fastest(on_host) * kTick;
    ASSERT_LE(time.best().value, fastest) << "instance " << instance;
    bound_sum += time.best().value;
    fastest_sum += fastest;
    reached += time.best().value == fastest ? 1 : 0;
  }
  std::printf("bounds sum up to %.3f of the fastest schedules, %u of %u are equal\n",
              static_cast<double>(bound_sum) / static_cast<double>(fastest_sum), reached, kInstances);
  EXPECT_GT(bound_sum * 10, fastest_sum * 8);
  EXPECT_GT(reached, kInstances / 4);
}

// Kernels sweep ten pages of the host with memory for seven: the link never rests, and the last page may arrive at the
// very end.
TEST(TimeBounds, ALinkBoundSweepTakesTheTimeOfItsLoads) {
  SmallProgram program = {{Action::kHostTouch, 0x3ff, 0}};
  for (unsigned i = 0; i < 5; ++i) program.push_back({Action::kUse, 0x3ff, kTick});
  const bounds::Bounds bounds = bounds_of(program, system_of(4, 1), 7);
  EXPECT_EQ(bounds.time.compute.value, 5 * kTick);
  EXPECT_EQ(bounds.time.cold.value, (10 * 4 + 4) * kTick);  // all pages, then four more kernels
  EXPECT_EQ(bounds.time.min.value, (10 + 4 * 3) * 4 * kTick);
  EXPECT_EQ(bounds.time.write_backs.value, (10 + 4 * 3) * 4 * kTick);
  EXPECT_EQ(bounds.bytes.cold_htod, 10 * kBasePageBytes);
  EXPECT_EQ(bounds.bytes.htod, (10 + 4 * 3) * kBasePageBytes);
  EXPECT_EQ(bounds.bytes.dtoh, 5 * 3 * kBasePageBytes);
  EXPECT_EQ(bounds.bytes.link_time.value, (10 + 4 * 3) * 4 * kTick);
  EXPECT_EQ(bounds.hard_phase.first_record, 1u);
  EXPECT_EQ(bounds.hard_phase.last_record, program.size());
}

// Twelve kernels compute on one page, then four other pages are needed at once. With two frames, at most one of these
// can have been fetched while the twelve computed.
TEST(TimeBounds, WindowsSeeWhatCannotBeFetchedAhead) {
  SmallProgram program = {{Action::kHostTouch, 0x1f, 0}};
  for (unsigned i = 0; i < 12; ++i) program.push_back({Action::kUse, 1, kTick});
  for (const PageSet page : {2u, 4u, 8u, 16u}) program.push_back({Action::kUse, page, kTick});
  const bounds::TimeBounds time = bounds_of(program, system_of(4, 1), 2).time;
  EXPECT_EQ(time.compute.value, 16 * kTick);
  EXPECT_EQ(time.cold.value, 20 * kTick);  // five pages
  EXPECT_EQ(time.min.value, 20 * kTick);
  // A arrives, eleven kernels compute, and at the end of the second to last of them A and one other page are in memory.
  EXPECT_EQ(time.windowed.value, (4 + 10 + 3 * 4) * kTick);
  EXPECT_GE(time.write_backs, time.windowed);
}

// Pages that the GPU writes move nothing at first, but must be written back when memory is full, which takes time too.
TEST(TimeBounds, WriteBacksCountWhereNothingComesIn) {
  SmallProgram program;
  for (unsigned i = 0; i < 8; ++i) program.push_back({Action::kUse, PageSet{1} << i, 0});
  const bounds::Bounds bounds = bounds_of(program, system_of(1, 4), 2);
  EXPECT_EQ(bounds.time.windowed.value, 0);
  EXPECT_EQ(bounds.time.write_backs.value, 6 * 4 * kTick);
  EXPECT_EQ(bounds.bytes.htod, 0u);
  EXPECT_EQ(bounds.bytes.dtoh, 6 * kBasePageBytes);
}

// If pages are freed in time, nothing has to be written back.
TEST(TimeBounds, WhatIsFreedIsNotWrittenBack) {
  SmallProgram program;
  for (unsigned i = 0; i < 8; ++i) {
    program.push_back({Action::kUse, PageSet{1} << i, 0});
    program.push_back({Action::kFree, PageSet{1} << i, 0});
  }
  const bounds::Bounds bounds = bounds_of(program, system_of(1, 4), 1);
  EXPECT_EQ(bounds.time.best().value, 0);
  EXPECT_EQ(bounds.bytes.dtoh, 0u);
}

}  // namespace
}  // namespace uvmsim
