// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/footprint.h"

#include <algorithm>

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

void FootprintMeter::touch(trace::ObjectId id, std::uint64_t offset, std::uint64_t bytes) {
  if (id == trace::kNoObject || bytes == 0) return;
  const Placement& placement = layout_.find(id);
  if (!placement.managed || offset >= placement.bytes) return;
  const std::uint64_t begin = placement.offset + offset;
  const std::uint64_t end = begin + std::min(bytes, placement.bytes - offset);
  for (std::uint64_t at = begin / kBlockBytes; at <= (end - 1) / kBlockBytes; ++at) {
    const BlockIndex block = placement.blocks[at];
    touched_.touch(block, (space_.block(block).end_page + kPagesPerBigPage - 1) / kPagesPerBigPage);
  }
}

void FootprintMeter::touch(const trace::Record& record) {
  if (const auto* kernel = std::get_if<trace::Kernel>(&record)) {
    for (const trace::ObjectAccess& access : kernel->accesses) {
      for (const trace::Extent& extent : access.extents) {
        touch(access.object, extent.first * quantum_bytes_, extent.count * quantum_bytes_);
      }
    }
  } else if (const auto* copy = std::get_if<trace::Memcpy>(&record)) {
    touch(copy->dst.object, copy->dst.offset, copy->bytes);
    touch(copy->src.object, copy->src.offset, copy->bytes);
  } else if (const auto* set = std::get_if<trace::Memset>(&record)) {
    touch(set->object, set->offset, set->bytes);
  } else if (const auto* prefetch = std::get_if<trace::Prefetch>(&record); prefetch && prefetch->destination >= 0) {
    touch(prefetch->object, prefetch->offset, prefetch->bytes);
  }
}

void FootprintMeter::add(const trace::Record& record, bool is_segment) {
  const auto release = [this](BlockIndex block) { touched_.release(block); };
  touched_.begin_record();
  layout_.follow(record);
  if (layout_.has_empty_segments()) for_each_touched(record, [this](trace::ObjectId id) { layout_.touch(id); });
  if (quantum_bytes_ != 0) touch(record);
  if (const auto* object = std::get_if<trace::ObjectAlloc>(&record)) {
    check(object->bytes);
    layout_.allocate(*object, is_segment);
  } else if (const auto* tensor = std::get_if<trace::TensorAlloc>(&record)) {
    check(tensor->bytes);
    layout_.allocate(*tensor);
  } else if (const auto* freed = std::get_if<trace::ObjectFree>(&record)) {
    layout_.free(freed->id, release);
  } else if (const auto* tensor_freed = std::get_if<trace::TensorFree>(&record)) {
    layout_.free_tensor(tensor_freed->id, release);
    layout_.forget(tensor_freed->id);
  }
  layout_.drop_released(release);
}

}  // namespace uvmsim::layout
