// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/steps.h"

#include <algorithm>
#include <span>

#include "sim/common/range_map.h"
#include "sim/common/units.h"

namespace uvmsim::bounds {

namespace {

struct PageState {
  enum class Place : std::uint8_t {
    kNowhere,
    kHost,
    kGpu,      // or written back since
    kUnknown,  // perhaps mapped remotely
  } place = Place::kNowhere;
  std::size_t step = 0;  // kGpu: of the last use; kHost: of the arrival
  bool operator==(const PageState&) const = default;
};
using Place = PageState::Place;

// A step ends where everything later comes after everything before.
std::vector<std::size_t> step_ends(const std::vector<Operation>& operations) {
  std::vector<std::size_t> ends;
  std::size_t after_all = operations.size();  // least `after` of the operations from `i` on
  for (std::size_t i = operations.size(); i > 0; --i) {
    if (after_all >= i) ends.push_back(i);
    after_all = std::min(after_all, operations[i - 1].after);
  }
  std::reverse(ends.begin(), ends.end());
  return ends;
}

class StepBuilder {
 public:
  StepBuilder(const Program& program, const config::SystemConfig& system)
      : program_(program),
        thrashing_(system.driver.thrashing_enable),
        // A page that was on a GPU may later be mapped remotely: by access counters after an eviction, or between GPUs
        // that compete for it. Then only the first time certainly costs.
        comes_once_(system.driver.access_counter_migration || program.gpus.size() > 1) {}

  Steps build();

 private:
  std::span<const PageRun> runs(const Operation& operation) const {
    return std::span(program_.runs).subspan(operation.first_run, operation.end_run - operation.first_run);
  }
  template <class F>
  void for_each_run(Action action, F&& f) {
    for (const Operation& operation : operations_) {
      if (operation.action != action) continue;
      for (const PageRun& run : runs(operation)) f(run);
    }
  }
  bool has(Action action) const {
    return std::any_of(operations_.begin(), operations_.end(), [&](const Operation& o) { return o.action == action; });
  }
  void drop_dead(const Operation& operation) {
    for (std::size_t i = operation.end_run; i < operation.end_dead_run; ++i) drop(program_.runs[i]);
  }
  void play();
  void use(const PageRun& run);
  void take(const PageRun& run);
  void drop(const PageRun& run);
  void free(const PageRun& run);
  void forget_blocks(const PageRun& run);
  std::vector<PageRun> bouncing_blocks();
  void end_interval(std::size_t from, std::uint64_t pages, Interval::End end) {
    step_.intervals.push_back({from, pages, end});
  }
  void merge_intervals();

  const Program& program_;
  bool thrashing_, comes_once_;
  RangeMap<PageState> pages_;
  std::span<const Operation> operations_;  // of the current step
  std::size_t number_ = 0;
  Step step_;
  std::vector<std::pair<PageRun, PageState>> changes_;
};

void StepBuilder::use(const PageRun& run) {
  if (program_.pages_may_rest) return;
  changes_.clear();
  pages_.for_each(run.first, run.end, [&](std::uint64_t first, std::uint64_t end, const PageState& state) {
    if (state.place == Place::kUnknown) return;
    if (state.place == Place::kGpu) {
      if (comes_once_ || state.step == number_) return;
      end_interval(state.step, end - first, Interval::End::kReused);
    } else {
      step_.fresh_pages += end - first;
      if (state.place == Place::kHost) {
        step_.cold_pages += end - first;
        end_interval(state.step, end - first, Interval::End::kCold);
      }
    }
    changes_.push_back({{first, end}, {Place::kGpu, number_}});
  });
  for (const auto& [pages, state] : changes_) pages_.assign(pages.first, pages.end, state);
}

// The host takes the pages, unless a GPU used them in the same step.
void StepBuilder::take(const PageRun& run) {
  changes_.clear();
  pages_.for_each(run.first, run.end, [&](std::uint64_t first, std::uint64_t end, const PageState& state) {
    if (state.place == Place::kUnknown) return;
    const bool was_on_gpu = state.place == Place::kGpu;
    if (was_on_gpu && state.step == number_) return;
    if (was_on_gpu) end_interval(state.step, end - first, Interval::End::kTaken);
    const bool unknown = was_on_gpu && comes_once_;
    changes_.push_back({{first, end}, unknown ? PageState{Place::kUnknown, 0} : PageState{Place::kHost, number_}});
  });
  for (const auto& [pages, state] : changes_) pages_.assign(pages.first, pages.end, state);
}

// Drops dead contents. Hints stay: the location of such a page remains unknown.
void StepBuilder::drop(const PageRun& run) {
  changes_.clear();
  pages_.for_each(run.first, run.end, [&](std::uint64_t first, std::uint64_t end, const PageState& state) {
    if (state.place == Place::kUnknown) return;
    changes_.push_back({{first, end}, {}});
    if (state.place != Place::kGpu) return;
    // Used and discarded in one step in unknown order: nothing is certain.
    const bool now = state.step == number_;
    end_interval(state.step, end - first, now ? Interval::End::kForgotten : Interval::End::kDropped);
  });
  for (const auto& [pages, state] : changes_) pages_.assign(pages.first, pages.end, state);
}

// Frees the memory and its hints.
void StepBuilder::free(const PageRun& run) {
  drop(run);
  pages_.assign(run.first, run.end, {});
}

void StepBuilder::forget_blocks(const PageRun& run) {
  const std::uint64_t first_page = run.first / kPagesPerBlock * kPagesPerBlock;
  const std::uint64_t end_page = (run.end + kPagesPerBlock - 1) / kPagesPerBlock * kPagesPerBlock;
  pages_.for_each(first_page, end_page, [&](std::uint64_t first, std::uint64_t end, const PageState& state) {
    if (state.place == Place::kGpu) end_interval(state.step, end - first, Interval::End::kForgotten);
  });
  pages_.assign(first_page, end_page, {Place::kUnknown, 0});
}

// Returns the 2 MB blocks that the CPU touches and a GPU used: the driver watches them from then on, and may pin their
// pages to the host, which GPUs then read remotely (driver/thrashing.h).
std::vector<PageRun> StepBuilder::bouncing_blocks() {
  std::vector<PageRun> blocks;
  if (!thrashing_) return blocks;
  for_each_run(Action::kHostTouch, [&](const PageRun& run) {
    for (std::uint64_t block = run.first / kPagesPerBlock; block * kPagesPerBlock < run.end; ++block) {
      const PageRun whole{block * kPagesPerBlock, (block + 1) * kPagesPerBlock};
      bool used = false;
      pages_.for_each(whole.first, whole.end, [&](std::uint64_t, std::uint64_t, const PageState& state) {
        used = used || state.place == Place::kGpu;
      });
      if (used) blocks.push_back(whole);
    }
  });
  return blocks;
}

// Plays the step's operations in an order that costs no more than the unknown real one.
void StepBuilder::play() {
  for_each_run(Action::kHint, [&](const PageRun& run) { forget_blocks(run); });
  if (has(Action::kUse)) {
    for (const PageRun& block : bouncing_blocks()) forget_blocks(block);
  }
  for_each_run(Action::kDiscard, [&](const PageRun& run) { drop(run); });
  for (const Operation& operation : operations_.first(operations_.size() - 1)) drop_dead(operation);
  for_each_run(Action::kUse, [&](const PageRun& run) { use(run); });
  const std::vector<PageRun> bouncing = bouncing_blocks();
  for_each_run(Action::kHostTouch, [&](const PageRun& run) { take(run); });
  for_each_run(Action::kToHost, [&](const PageRun& run) { take(run); });
  for (const PageRun& block : bouncing) forget_blocks(block);
  for_each_run(Action::kDiscard, [&](const PageRun& run) { drop(run); });
  for_each_run(Action::kFree, [&](const PageRun& run) { free(run); });
  for (const Operation& operation : operations_) drop_dead(operation);
}

void StepBuilder::merge_intervals() {
  std::vector<Interval>& all = step_.intervals;
  std::sort(all.begin(), all.end(),
            [](const Interval& a, const Interval& b) { return std::pair(a.end, a.from) < std::pair(b.end, b.from); });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].end == all[kept].end && all[i].from == all[kept].from) {
      all[kept].pages += all[i].pages;
    } else {
      all[++kept] = all[i];
    }
  }
  if (!all.empty()) all.resize(kept + 1);
  all.shrink_to_fit();
}

Steps StepBuilder::build() {
  Steps result;
  std::size_t first = 0;
  for (const std::size_t end : step_ends(program_.operations)) {
    operations_ = std::span(program_.operations).subspan(first, end - first);
    step_ = {};
    step_.end_operation = end;
    play();
    merge_intervals();
    result.steps.push_back(std::move(step_));
    first = end;
    ++number_;
  }
  step_ = {};
  pages_.for_each([&](std::uint64_t begin, std::uint64_t end, const PageState& state) {
    if (state.place == Place::kGpu) end_interval(state.step, end - begin, Interval::End::kDropped);
  });
  merge_intervals();
  result.open = std::move(step_.intervals);
  return result;
}

}  // namespace

Steps cut_into_steps(const Program& program, const config::SystemConfig& system) {
  return StepBuilder(program, system).build();
}

}  // namespace uvmsim::bounds
