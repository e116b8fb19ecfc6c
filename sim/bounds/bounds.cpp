// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/bounds.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/bounds/held_clock.h"
#include "sim/bounds/link_time.h"
#include "sim/bounds/program.h"
#include "sim/bounds/steps.h"
#include "sim/bounds/windows.h"
#include "sim/engine/capacity.h"

namespace uvmsim::bounds {

namespace {

// Any choice of windows gives a valid bound. This number of counts, over all windows, takes about a second.
constexpr std::size_t kMostCounts = std::size_t{1} << 20;

std::vector<Window> count_windows(const Steps& steps, std::uint64_t capacity_pages) {
  std::vector<Window> windows;
  const std::size_t length = steps.steps.size();
  const std::size_t count = std::clamp<std::size_t>(kMostCounts / std::max<std::size_t>(length, 1), 1, length);
  for (std::size_t i = 0; i < count; ++i) windows.push_back(count_window(steps, length * i / count, capacity_pages));
  return windows;
}

struct Move {
  std::uint64_t pages_in = 0, pages_out = 0;
};

// The earliest end of steps, given the pages that must be moved in each window.
class WindowedHold {
 public:
  WindowedHold(const std::vector<Window>& windows, const LinkTime& link, bool write_backs)
      : windows_(windows), link_(link), write_backs_(write_backs) {}

  Nanoseconds operator()(std::size_t step, Nanoseconds computed) {
    Nanoseconds held{};
    std::size_t holder = 0;
    for (std::size_t i = 0; i < started_.size(); ++i) {
      const Move move = moved(i, step);
      const Nanoseconds end = started_[i] + link_.of(move.pages_in, move.pages_out);
      if (end <= held) continue;
      held = end;
      holder = i;
    }
    over_ = std::max({over_, computed, held});
    if (held > computed) last_ = Binding{holder, step};
    if (started_.size() < windows_.size() && windows_[started_.size()].base == step + 1) started_.push_back(over_);
    return held;
  }

  struct Binding {
    std::size_t window = 0, step = 0;
  };
  // The last step that the links delayed.
  const std::optional<Binding>& last() const { return last_; }
  Move moved(std::size_t window, std::size_t step) const {
    const Window& w = windows_[window];
    return {w.pages_in[step - w.base], write_backs_ ? w.pages_out[step - w.base] : 0};
  }

 private:
  const std::vector<Window>& windows_;
  const LinkTime& link_;
  bool write_backs_;
  std::vector<Nanoseconds> started_{Nanoseconds{}};  // by window so far
  Nanoseconds over_{};                               // end of all steps so far
  std::optional<Binding> last_;
};

HardPhase hard_phase(const Program& program, const Steps& steps, const std::vector<Window>& windows,
                     const LinkTime& link, const WindowedHold& hold) {
  HardPhase phase;
  if (!hold.last()) return phase;
  const auto [window, step] = *hold.last();
  const std::size_t base = windows[window].base;
  const Move move = hold.moved(window, step);
  phase.first_record = program.operations[base == 0 ? 0 : steps.steps[base - 1].end_operation].record;
  phase.last_record = program.operations[steps.steps[step].end_operation - 1].record;
  phase.htod_bytes = move.pages_in * kBasePageBytes;
  phase.dtoh_bytes = move.pages_out * kBasePageBytes;
  phase.link_time = link.of(move.pages_in, move.pages_out);
  return phase;
}

}  // namespace

Bounds compute_bounds(const trace::Header& header, const RecordSource& source, const RunOptions& options) {
  const Program program = read_program(header, source, options, engine::capacity_bytes(options, 0));
  std::uint64_t capacity_bytes = 0;
  for (const unsigned gpu : program.gpus) capacity_bytes += engine::capacity_bytes(options, gpu);
  return compute_bounds(program, options.system, capacity_bytes);
}

Bounds compute_bounds(const Program& program, const config::SystemConfig& system, std::uint64_t capacity_bytes) {
  const Steps steps = cut_into_steps(program, system);
  const LinkTime link(system, program.gpus);
  const std::vector<Window> windows = count_windows(steps, capacity_bytes / kBasePageBytes);
  Bounds bounds;
  bounds.gpus = program.gpus;
  bounds.time_scale = program.time_scale;
  bounds.capacity_bytes = capacity_bytes;
  bounds.steps = steps.steps.size();
  bounds.windows = windows.size();

  const auto none = [](std::size_t, Nanoseconds) { return Nanoseconds{}; };
  bounds.time.compute = held_time(program, steps, none);
  std::uint64_t cold_pages = 0;
  bounds.time.cold = held_time(program, steps, [&](std::size_t step, Nanoseconds) {
    cold_pages += steps.steps[step].cold_pages;
    return link.of(cold_pages, 0);
  });
  bounds.bytes.cold_htod = cold_pages * kBasePageBytes;
  bounds.time.min = bounds.time.windowed = bounds.time.write_backs = bounds.time.cold;
  if (windows.empty()) return bounds;

  const Window& whole = windows.front();
  bounds.time.min =
      held_time(program, steps, [&](std::size_t step, Nanoseconds) { return link.of(whole.pages_in[step], 0); });
  bounds.time.windowed = held_time(program, steps, WindowedHold(windows, link, false));
  WindowedHold hold(windows, link, true);
  bounds.time.write_backs = held_time(program, steps, std::ref(hold));
  bounds.hard_phase = hard_phase(program, steps, windows, link, hold);

  const std::uint64_t pages_in = whole.pages_in.back();
  const std::uint64_t pages_out = *std::max_element(whole.pages_out.begin(), whole.pages_out.end());
  bounds.bytes.htod = pages_in * kBasePageBytes;
  bounds.bytes.dtoh = pages_out * kBasePageBytes;
  bounds.bytes.link_time = link.of(pages_in, pages_out);
  return bounds;
}

}  // namespace uvmsim::bounds
