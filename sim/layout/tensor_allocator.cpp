// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/tensor_allocator.h"

#include <bit>

#include "sim/common/check.h"
#include "sim/common/error.h"
#include "sim/trace/limits.h"

namespace uvmsim::layout {

namespace {
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kRounding = 512;              // of every request
constexpr std::uint64_t kSmall = kMiB;                // requests up to this go to small segments
constexpr std::uint64_t kSmallSegment = 2 * kMiB;     // their size
constexpr std::uint64_t kOwnSegment = 10 * kMiB;      // requests of at least this size have a segment of their own size
constexpr std::uint64_t kSharedSegment = 20 * kMiB;   // segments for requests between the two
constexpr std::uint64_t kSegmentRounding = 2 * kMiB;  // of segments of their own size
}  // namespace

std::uint64_t rounded_request(std::uint64_t bytes, const AllocatorSettings& settings) {
  UVMSIM_CHECK(bytes != 0 && bytes <= trace::kMaxObjectBytes, "{} bytes requested", bytes);
  const std::uint64_t divisions = settings.roundup_power2_divisions;
  if (divisions < 2 || bytes <= kRounding * divisions) return rounded_up(bytes, kRounding);
  return rounded_up(bytes, std::bit_floor(bytes) / divisions);
}

bool is_small_request(std::uint64_t rounded_bytes) { return rounded_bytes <= kSmall; }

std::uint64_t segment_bytes_for(std::uint64_t rounded_bytes) {
  if (is_small_request(rounded_bytes)) return kSmallSegment;
  return rounded_bytes < kOwnSegment ? kSharedSegment : rounded_up(rounded_bytes, kSegmentRounding);
}

TensorAllocator::Placed TensorAllocator::allocate(std::uint64_t bytes, std::uint32_t stream,
                                                  std::uint64_t segment_address) {
  released_.clear();
  taken_.clear();
  Placed placed = place(bytes, stream, segment_address);
  placed.id = next_id_++;
  allocated_bytes_ += placed.bytes;
  in_use_.emplace(placed.id, Place{placed.segment, placed.offset});
  return placed;
}

void TensorAllocator::free(std::uint64_t id) {
  const auto use = in_use_.find(id);
  UVMSIM_CHECK(use != in_use_.end(), "block {} is not in use", id);
  const Place place = use->second;
  in_use_.erase(use);
  allocated_bytes_ -= free_block(place);
}

void TensorAllocator::empty_cache() {
  released_.clear();
  taken_.clear();
  finish_all();
  give_back_unused();
}

void TensorAllocator::give_back_for(std::uint64_t bytes, std::uint64_t segment_bytes) {
  finish_all();
  give_back_unused();
  if (room_for(segment_bytes)) return;
  throw_input_error(
      "the caching allocator is out of memory: a tensor of {} bytes needs a segment of {}, {} of {} are taken "
      "(tensors: "
      "{}); a larger memory_limit_bytes, or 0, lets it run",
      bytes, segment_bytes, reserved_bytes_, settings_.memory_limit_bytes, allocated_bytes_);
}

void TensorAllocator::take(const Range& range) {
  reserved_bytes_ += range.bytes;
  taken_.push_back(range);
}

void TensorAllocator::release(const Range& range) {
  reserved_bytes_ -= range.bytes;
  released_.push_back(range);
}

void TensorAllocator::finish_all() {
  while (!waiting_.empty()) finish(*waiting_.begin());
}

}  // namespace uvmsim::layout
