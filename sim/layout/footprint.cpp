#include "sim/layout/footprint.h"

#include "sim/common/error.h"
#include "sim/layout/segments.h"

namespace uvmsim::layout {

FootprintMeter::FootprintMeter(const LayoutChoice& choice, std::uint64_t largest_bytes)
    : largest_bytes_(largest_bytes), space_(1), layout_(choice, space_) {}

void FootprintMeter::check(std::uint64_t bytes) const {
  if (bytes > largest_bytes_ || layout_.live_bytes() > largest_bytes_ - bytes) {
    throw_input_error("more than {} bytes are live", largest_bytes_);
  }
}

void FootprintMeter::add(const trace::Record& record, bool is_segment) {
  const auto nothing = [](BlockIndex) {};
  layout_.follow(record);
  if (layout_.has_empty_segments()) {
    for_each_touched(record, [this](trace::ObjectId id) { layout_.touch(id); });
  }
  if (const auto* object = std::get_if<trace::ObjectAlloc>(&record)) {
    check(object->bytes);
    layout_.allocate(*object, is_segment);
  } else if (const auto* tensor = std::get_if<trace::TensorAlloc>(&record)) {
    check(tensor->bytes);
    layout_.allocate(*tensor);
  } else if (const auto* freed = std::get_if<trace::ObjectFree>(&record)) {
    layout_.free(freed->id, nothing);
  } else if (const auto* tensor_freed = std::get_if<trace::TensorFree>(&record)) {
    layout_.free_tensor(tensor_freed->id, nothing);
    layout_.forget(tensor_freed->id);
  }
  layout_.drop_released(nothing);
}

}  // namespace uvmsim::layout
