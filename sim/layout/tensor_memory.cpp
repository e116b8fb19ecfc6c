// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/tensor_memory.h"

#include <algorithm>
#include <numeric>

#include "sim/common/error.h"
#include "sim/layout/segments.h"

namespace uvmsim::layout {

namespace {

// The largest stream that the engine accepts.
constexpr std::uint32_t kLargestStream = 4096;

// Finds the stream that a record issues work to; returns false if it issues none.
bool stream_of(const trace::Record& record, std::uint32_t& stream) {
  return std::visit(
      [&](const auto& r) {
        if constexpr (requires { r.stream; }) {
          stream = r.stream;
          return true;
        } else {
          return false;
        }
      },
      record);
}

}  // namespace

TensorMemory::TensorMemory(std::unique_ptr<TensorAllocator> allocator, RecordStream record_stream, AddressSpace& space,
                           unsigned region)
    : allocator_(std::move(allocator)), record_stream_(record_stream), space_(space), region_(region) {}

TensorMemory::Place TensorMemory::allocate(trace::ObjectId id, std::uint64_t bytes, std::uint32_t stream,
                                           std::uint64_t segment_address, std::vector<Released>& released) {
  finish_waiting();
  const TensorAllocator::Placed placed = allocator_->allocate(bytes, stream, segment_address);
  take_back(released);
  std::uint64_t taken_bytes = 0;
  for (const TensorAllocator::Range& range : allocator_->taken()) {
    if (segments_.size() <= range.segment) segments_.resize(range.segment + 1);
    segments_[range.segment].set(range.offset / kBlockBytes, space_.allocate(0, range.bytes, region_),
                                 range.bytes / kBlockBytes);
    taken_bytes += range.bytes;
  }
  if (reached_.size() < segments_.size()) reached_.resize(segments_.size());
  reached_[placed.segment] = std::max(reached_[placed.segment], placed.offset + bytes);
  tensors_.emplace(id, Tensor{placed.id, placed.segment, placed.offset, stream, {}});
  ++tensors_of_stream_[stream];
  return {segments_[placed.segment], placed.offset, placed.new_segment, taken_bytes};
}

std::uint64_t TensorMemory::reached_bytes() const {
  return std::accumulate(reached_.begin(), reached_.end(), std::uint64_t{0});
}

void TensorMemory::free(trace::ObjectId id) {
  const auto found = tensors_.find(id);
  const Tensor tensor = std::move(found->second);
  tensors_.erase(found);
  if (--tensors_of_stream_[tensor.stream] == 0) tensors_of_stream_.erase(tensor.stream);
  std::vector<Use> pending;
  for (const Use& use : tensor.other_streams) {
    if (record_stream_ == RecordStream::kInferred && order_.precedes(use.stream, use.work, tensor.stream)) continue;
    pending.push_back({use.stream, order_.last_work(use.stream)});
  }
  if (pending.empty()) return allocator_->free(tensor.block);
  allocator_->free_later(tensor.block);
  waiting_.push_back({tensor.block, tensor.segment, tensor.offset, std::move(pending)});
}

// The GPU's progress is not known here: work counts as finished when the host has waited for it.
void TensorMemory::finish_waiting() {
  std::erase_if(waiting_, [this](const Waiting& waiting) {
    const bool over = std::all_of(waiting.uses.begin(), waiting.uses.end(),
                                  [this](const Use& use) { return order_.host_waited(use.stream, use.work); });
    if (over) allocator_->finish(waiting.block);
    return over;
  });
}

void TensorMemory::empty_cache(std::vector<Released>& released) {
  order_.host_waits_for_device();
  finish_waiting();
  allocator_->empty_cache();
  take_back(released);
}

void TensorMemory::take_back(std::vector<Released>& released) {
  if (allocator_->released().empty()) return;
  order_.host_waits_for_device();
  for (const TensorAllocator::Range& range : allocator_->released()) {
    released.push_back(
        {segments_[range.segment].part(range.offset / kBlockBytes, range.bytes / kBlockBytes), range.bytes});
  }
}

void TensorMemory::touch(trace::ObjectId id, std::uint32_t stream) {
  const auto found = tensors_.find(id);
  if (found == tensors_.end() || found->second.stream == stream) return;
  std::vector<Use>& uses = found->second.other_streams;
  auto use = std::find_if(uses.begin(), uses.end(), [&](const Use& u) { return u.stream == stream; });
  if (use == uses.end()) use = uses.insert(use, {stream, 0});
  use->work = order_.last_work(stream);
}

void TensorMemory::follow(const trace::Record& record) {
  if (record_stream_ == RecordStream::kNever) return;
  std::uint32_t stream = 0;
  const bool in_stream = stream_of(record, stream);
  if (in_stream && stream > kLargestStream) {
    throw_input_error("stream {} is out of range; allowed: 0 to {}", stream, kLargestStream);
  }
  order_.follow(record);
  if (!in_stream) return;
  // no other stream uses tensors
  if (tensors_of_stream_.size() == 1 && tensors_of_stream_.begin()->first == stream) return;
  for_each_touched(record, [&](trace::ObjectId id) { touch(id, stream); });
}

void TensorMemory::add_state(StateDigest& digest) const {
  std::vector<trace::ObjectId> ids;
  ids.reserve(tensors_.size());
  for (const auto& [id, tensor] : tensors_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  StreamOrder::Ranks ranks;
  order_.note_works(ranks);
  for (const auto& [id, tensor] : tensors_) {
    for (const Use& use : tensor.other_streams) ranks.note(use.stream, use.work);
  }
  for (const Waiting& waiting : waiting_) {
    for (const Use& use : waiting.uses) ranks.note(use.stream, use.work);
  }
  ranks.sort();
  order_.add_state(digest, ranks);
  const auto add_uses = [&](const std::vector<Use>& uses) {
    digest.add(uses.size());
    for (const Use& use : uses) {
      digest.add(use.stream);
      digest.add(ranks.of(use.stream, use.work));
    }
  };
  for (const trace::ObjectId id : ids) {
    const Tensor& tensor = tensors_.at(id);
    digest.add(tensor.stream);
    add_uses(tensor.other_streams);
  }
  for (const Waiting& waiting : waiting_) {  // in the order in which they are checked; at the limit in the order of ids
    if (!allocator_->is_waiting(waiting.block)) continue;  // an allocation at the limit has already waited for it
    digest.add(segments_[waiting.segment][waiting.offset / kBlockBytes].value);
    digest.add(waiting.offset);
    digest.add(static_cast<std::uint64_t>(
        std::count_if(waiting_.begin(), waiting_.end(), [&](const Waiting& w) { return w.block < waiting.block; })));
    add_uses(waiting.uses);
  }
  for (const BlockList& blocks : segments_) {
    if (blocks.empty()) continue;
    digest.add(blocks.size());
    blocks.for_each_run([&](const BlockList::Run& run) {
      digest.add(run.first.value);
      digest.add(run.count);
    });
  }
  allocator_->add_state(digest);
}

}  // namespace uvmsim::layout
