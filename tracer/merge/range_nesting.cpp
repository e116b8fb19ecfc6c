#include "tracer/merge/range_nesting.h"

#include <utility>

namespace uvmtrace {

using trace::Range;
using trace::RangeKind;

void RangeNesting::close_above(std::size_t height, const Emit& emit) {
  while (stack_.size() > height) {
    emit({RangeKind::kPop, "", 0});
    stack_.pop_back();
  }
}

void RangeNesting::end_iteration(const Emit& emit) {
  close_above(before_iteration_, emit);
  emit({RangeKind::kIterationEnd, "", *iteration_});
  iteration_.reset();
  while (!stack_.empty() && stack_.back().closed) {
    emit({RangeKind::kPop, "", 0});
    stack_.pop_back();
  }
}

void RangeNesting::pop(std::uint32_t tid, const Emit& emit) {
  std::size_t at = stack_.size();
  while (at > 0 && (stack_[at - 1].tid != tid || stack_[at - 1].closed)) {
    --at;
  }
  if (at == 0) {
    return;
  }
  --at;
  if (iteration_ && at < before_iteration_) {
    stack_[at].closed = true;
    return;
  }
  std::vector<Open> above(std::make_move_iterator(stack_.begin() + static_cast<std::ptrdiff_t>(at) + 1),
                          std::make_move_iterator(stack_.end()));
  close_above(at, emit);
  for (Open& range : above) {
    emit({RangeKind::kPush, range.name, 0});
    stack_.push_back(std::move(range));
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
      if (iteration_) {
        end_iteration(emit);
      }
      iteration_ = event.index;
      before_iteration_ = stack_.size();
      emit({RangeKind::kIterationBegin, "", event.index});
      break;
    case RangeKind::kIterationEnd:
      if (iteration_ == event.index) {
        end_iteration(emit);
      }
      break;
  }
}

void RangeNesting::finish(const Emit& emit) {
  if (iteration_) {
    end_iteration(emit);
  }
  close_above(0, emit);
}

}  // namespace uvmtrace
