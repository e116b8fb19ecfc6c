// SPDX-License-Identifier: Apache-2.0
// The part of a run that a timeline shows: some iterations, kernels or a span of time. A whole training run is too
// large for a viewer.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/events/event_sink.h"

namespace uvmsim::report {

struct TimelineWindow {
  enum class By : std::uint8_t { kAll, kIterations, kKernels, kTime };
  By by = By::kAll;
  // Both ends are included: indices of iterations, kernels by their start from 1, nanoseconds.
  std::uint64_t first = 0, last = 0;
};

// Follows a run and decides what lies in the window.
class WindowFilter {
 public:
  explicit WindowFilter(const TimelineWindow& window) : window_(window) {}

  // Iterations and kernels report their begin only to sinks that want accounts.
  bool wants_accounts() const {
    return window_.by == TimelineWindow::By::kIterations || window_.by == TimelineWindow::By::kKernels;
  }
  void note(const IterationEvent& event);
  void note(const WorkStartEvent& event);
  void note(const WorkEndEvent& event);

  // Returns whether the span overlaps the window, as far as the window is known already.
  bool shows(Nanoseconds start, Nanoseconds end) const;

 private:
  TimelineWindow window_;
  std::optional<Nanoseconds> begin_, end_;  // as far as they are known already
  std::uint64_t kernels_ = 0;
  std::optional<std::uint32_t> last_stream_;  // of the last kernel of the window
};

}  // namespace uvmsim::report
