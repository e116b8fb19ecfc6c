// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/segments.h"

namespace uvmsim::layout {

bool SegmentFinder::next(trace::Record& record) {
  if (ahead_.empty()) {
    if (!source_(record)) return false;
  } else {
    record = std::move(ahead_.front());
    ahead_.pop_front();
  }
  const auto* object = std::get_if<trace::ObjectAlloc>(&record);
  if (object == nullptr) return true;
  is_segment_ = false;
  for (std::size_t i = 0;; ++i) {
    if (i == ahead_.size()) {
      trace::Record following;
      if (!source_(following)) return true;
      ahead_.push_back(std::move(following));
    }
    if (std::holds_alternative<trace::Range>(ahead_[i])) continue;
    const auto* tensor = std::get_if<trace::TensorAlloc>(&ahead_[i]);
    is_segment_ = tensor != nullptr && tensor->object == object->id;
    return true;
  }
}

}  // namespace uvmsim::layout
