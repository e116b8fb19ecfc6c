// SPDX-License-Identifier: Apache-2.0
#include "sim/report/timeline_window.h"

namespace uvmsim::report {

void WindowFilter::note(const IterationEvent& event) {
  if (window_.by != TimelineWindow::By::kIterations) return;
  if (event.begin && event.index == window_.first && !begin_) begin_ = event.at;
  if (!event.begin && event.index == window_.last && begin_ && !end_) end_ = event.at;
}

void WindowFilter::note(const WorkStartEvent& event) {
  if (window_.by != TimelineWindow::By::kKernels || event.kind != WorkKind::kKernel) return;
  ++kernels_;
  if (kernels_ == window_.first) begin_ = event.start;
  if (kernels_ == window_.last) last_stream_ = event.stream;
}

void WindowFilter::note(const WorkEndEvent& event) {
  if (!end_ && last_stream_ == event.stream) end_ = event.end;
}

bool WindowFilter::shows(Nanoseconds start, Nanoseconds end) const {
  switch (window_.by) {
    case TimelineWindow::By::kAll:
      return true;
    case TimelineWindow::By::kTime:
      return end.value >= static_cast<std::int64_t>(window_.first) &&
             start.value <= static_cast<std::int64_t>(window_.last);
    case TimelineWindow::By::kIterations:
    case TimelineWindow::By::kKernels:
      return begin_ && end >= *begin_ && (!end_ || start <= *end_);
  }
  return true;
}

}  // namespace uvmsim::report
