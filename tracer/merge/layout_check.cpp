// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/layout_check.h"

#include <fmt/format.h>

#include <unordered_map>

#include "sim/common/random.h"
#include "sim/layout/caching_allocator.h"
#include "sim/trace/validate.h"

namespace uvmtrace {

namespace {

namespace trace = uvmsim::trace;
using uvmsim::layout::CachingAllocator;

class Check {
 public:
  void operator()(const trace::ObjectAlloc& object) { objects_[object.id] = {object.bytes, object.va, kNoSegment}; }
  void operator()(const trace::ObjectFree& object) {
    const auto found = objects_.find(object.id);
    if (found != objects_.end()) {
      if (found->second.segment != kNoSegment) {
        ++out.segments_freed;
        model_.empty_cache();
      }
      objects_.erase(found);
    }
  }
  void operator()(const trace::TensorAlloc& tensor) {
    const auto found = objects_.find(tensor.object);
    if (found == objects_.end()) {
      ++out.unplaced;
      return;
    }
    Object& object = found->second;
    const bool first_use = !object.used;
    object.used = true;
    out.segments += first_use ? 1 : 0;
    const CachingAllocator::Placed placed = model_.allocate(tensor.bytes, tensor.stream, first_use ? object.va : 0);
    placed_[tensor.id] = placed.id;
    if (placed.new_segment && first_use) object.segment = placed.segment;
    ++out.tensors;
    const bool equal =
        object.segment == placed.segment && object.bytes == placed.segment_bytes && tensor.offset == placed.offset;
    out.equal += equal ? 1 : 0;
    if (!equal && out.first_difference.empty()) {
      out.first_difference = fmt::format(
          "tensor {} of {} bytes: recorded in object {} ({} bytes{}) at {}, the model has it in {} segment {} ({} "
          "bytes) "
          "at {}",
          tensor.id, tensor.bytes, tensor.object, object.bytes, first_use ? ", new" : "", tensor.offset,
          placed.new_segment ? "new" : "old", placed.segment, placed.segment_bytes, placed.offset);
    }
  }
  void operator()(const trace::TensorFree& tensor) {
    const auto found = placed_.find(tensor.id);
    if (found != placed_.end()) {
      model_.free(found->second);
      placed_.erase(found);
    }
  }
  template <class Other>
  void operator()(const Other&) {}

  LayoutCheck take() {
    out.model_segments = model_.segment_count();
    return out;
  }

 private:
  static constexpr std::uint64_t kNoSegment = UINT64_MAX;
  struct Object {
    std::uint64_t bytes = 0, va = 0;
    std::uint64_t segment = kNoSegment;  // the model's segment that was allocated when this one was first used
    bool used = false;
  };

  LayoutCheck out;
  CachingAllocator model_;
  std::unordered_map<trace::ObjectId, Object> objects_;  // only looked up
  std::unordered_map<trace::ObjectId, std::uint64_t> placed_;
};

}  // namespace

bool LayoutCheck::at_least(std::uint32_t thousandths) const {
  return static_cast<uvmsim::WideUnsigned>(equal) * 1000 >= static_cast<uvmsim::WideUnsigned>(tensors) * thousandths;
}

LayoutCheck check_layout(uvmsim::trace::TraceReader& reader) {
  Check check;
  trace::Validator validator(reader.name(), reader.header());
  trace::Record record;
  while (reader.next(record)) {
    validator.check(record, reader.position());
    std::visit(check, record);
  }
  return check.take();
}

}  // namespace uvmtrace
