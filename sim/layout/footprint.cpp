// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/footprint.h"

#include <algorithm>
#include <utility>

#include "sim/common/error.h"

namespace uvmsim::layout {

void TouchedBlocks::touch(BlockIndex block, std::uint32_t slots) {
  const auto [at, is_first] = open_.try_emplace(block.value, Interval{now_, now_, slots});
  if (!is_first) at->second.last = now_;
}

void TouchedBlocks::release(BlockIndex first, std::uint64_t count) {
  for (auto at = open_.lower_bound(first.value); at != open_.end() && at->first < first.value + count;) {
    closed_.push_back(at->second);
    at = open_.erase(at);
  }
}

std::uint64_t TouchedBlocks::peak_slots() const {
  // record, change of slots; in one record ends come before begins
  std::vector<std::pair<std::uint64_t, std::int64_t>> changes;
  changes.reserve(2 * (closed_.size() + open_.size()));
  const auto add = [&](const Interval& interval) {
    const auto slots = static_cast<std::int64_t>(interval.slots);
    changes.emplace_back(interval.first, slots);
    changes.emplace_back(interval.last + 1, -slots);
  };
  for (const Interval& interval : closed_) add(interval);
  for (const auto& [block, interval] : open_) add(interval);
  std::sort(changes.begin(), changes.end());
  std::int64_t live = 0, peak = 0;
  for (const auto& [record, slots] : changes) {
    live += slots;
    peak = std::max(peak, live);
  }
  return static_cast<std::uint64_t>(peak);
}

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
    touched_.touch(block, (space_.end_page(block) + kPagesPerBigPage - 1) / kPagesPerBigPage);
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
  const auto release = [this](BlockIndex first, std::uint64_t count) { touched_.release(first, count); };
  touched_.begin_record();
  layout_.follow(record);
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
