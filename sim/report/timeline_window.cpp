// SPDX-License-Identifier: Apache-2.0
#include "sim/report/timeline_window.h"

namespace uvmsim::report {

void WindowFilter::note(const IterationEvent& event) {
  if (window_.by != TimelineWindow::By::kIterations) return;
  if (event.begin && event.index == window_.first && !open_) {
    open_ = true;
    begin_ = event.at;
  }
  if (!event.begin && event.index == window_.last && open_ && !closed_) {
    closed_ = true;
    end_ = event.at;
  }
}

void WindowFilter::note(const WorkStartEvent& event) {
  if (window_.by != TimelineWindow::By::kKernels || event.kind != WorkKind::kKernel) return;
  ++kernels_;
  if (kernels_ == window_.first) {
    open_ = true;
    begin_ = event.start;
  }
  if (kernels_ == window_.last) {
    last_started_ = true;
    last_stream_ = event.stream;
  }
}

void WindowFilter::note(const WorkEndEvent& event) {
  if (!last_started_ || closed_ || event.stream != last_stream_) return;
  closed_ = true;
  end_ = event.end;
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
      return open_ && end >= begin_ && (!closed_ || start <= end_);
  }
  return true;
}

}  // namespace uvmsim::report
