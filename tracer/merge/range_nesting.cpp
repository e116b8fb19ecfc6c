// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/range_nesting.h"

#include <utility>

namespace uvmtrace {

using trace::Range;
using trace::RangeKind;

// Removes one range from the trace's stack; ranges above it are closed for this and opened again.
void RangeNesting::remove(std::size_t position, const Emit& emit) {
  for (std::size_t i = stack_.size(); i-- > position;) {
    if (stack_[i].written) emit({RangeKind::kPop, "", 0});
  }
  stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(position));
  for (std::size_t i = position; i < stack_.size(); ++i) {
    if (stack_[i].written) emit({RangeKind::kPush, stack_[i].name, 0});
  }
}

void RangeNesting::end_iteration(const Emit& emit) {
  for (std::size_t i = stack_.size(); i-- > before_iteration_;) {
    if (std::exchange(stack_[i].written, false)) emit({RangeKind::kPop, "", 0});
  }
  emit({RangeKind::kIterationEnd, "", *iteration_});
  iteration_.reset();
  for (std::size_t i = stack_.size(); i-- > 0;) {
    if (stack_[i].popped) remove(i, emit);
  }
}

void RangeNesting::pop(std::uint32_t tid, const Emit& emit) {
  std::size_t above = stack_.size();
  while (above > 0 && (stack_[above - 1].tid != tid || stack_[above - 1].popped)) --above;
  if (above == 0) return;
  const std::size_t at = above - 1;
  const bool outside = iteration_ && at < before_iteration_;
  if (outside && stack_[at].written) {
    stack_[at].popped = true;
  } else if (outside) {
    stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(at));
    --before_iteration_;
  } else if (stack_[at].written) {
    remove(at, emit);
  } else {
    stack_.erase(stack_.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

void RangeNesting::apply(const RangeEvent& event, const std::string& name, std::uint32_t tid, const Emit& emit) {
  switch (event.kind) {
    case RangeKind::kPush:
      emit({RangeKind::kPush, name, 0});
      stack_.push_back({name, tid});
      break;
    case RangeKind::kPop:
      pop(tid, emit);
      break;
    case RangeKind::kIterationBegin:
      if (iteration_) end_iteration(emit);
      iteration_ = event.index;
      before_iteration_ = stack_.size();
      emit({RangeKind::kIterationBegin, "", event.index});
      break;
    case RangeKind::kIterationEnd:
      if (iteration_ == event.index) end_iteration(emit);
      break;
  }
}

void RangeNesting::begin_here(const Emit& emit) {
  iteration_.reset();
  before_iteration_ = 0;
  std::erase_if(stack_, [](const Open& range) { return range.popped; });
  for (Open& range : stack_) {
    range.written = true;
    emit({RangeKind::kPush, range.name, 0});
  }
}

void RangeNesting::finish_iteration(const Emit& emit) {
  if (iteration_) end_iteration(emit);
}

void RangeNesting::finish(const Emit& emit) {
  finish_iteration(emit);
  for (; !stack_.empty(); stack_.pop_back()) {
    if (stack_.back().written) emit({RangeKind::kPop, "", 0});
  }
}

}  // namespace uvmtrace
