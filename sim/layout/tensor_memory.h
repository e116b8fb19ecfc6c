// SPDX-License-Identifier: Apache-2.0
// Tensors under the allocator of a framework: the VA blocks of its segments, and the time from which a tensor's block
// may be used again.
//
// A block is free as soon as its tensor is freed, because the same stream orders later work. If work of another stream
// may still use the block, PyTorch waits for that stream, provided that the program told it so (record_stream). Traces
// contain no such calls, but show which streams touched a tensor, and whether the tensor's own stream waited for them
// before the free. If it did, the call was not needed; if it did not, a correct program must have made it.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/common/state_digest.h"
#include "sim/common/units.h"
#include "sim/layout/block_list.h"
#include "sim/layout/stream_order.h"
#include "sim/layout/tensor_allocator.h"
#include "sim/memory/address_space.h"

namespace uvmsim::layout {

// Memory that goes back to the driver in one call.
struct Released {
  BlockList blocks;
  std::uint64_t bytes = 0;
};

class TensorMemory {
 public:
  enum class RecordStream : std::uint8_t { kInferred, kTouched, kNever };

  TensorMemory(std::unique_ptr<TensorAllocator> allocator, RecordStream record_stream, AddressSpace& space,
               unsigned region);

  // The place of a tensor: its segment's blocks and the offset in the segment.
  struct Place {
    const BlockList& blocks;  // of the whole segment; those without memory must not be used
    std::uint64_t offset = 0;
    bool new_segment = false;       // by one call of the driver
    std::uint64_t taken_bytes = 0;  // memory that appears in a reservation costs no call
  };
  // `segment_address`: see TensorAllocator. Adds memory that is given back to `released`.
  Place allocate(trace::ObjectId id, std::uint64_t bytes, std::uint32_t stream, std::uint64_t segment_address,
                 std::vector<Released>& released);
  bool contains(trace::ObjectId id) const { return tensors_.contains(id); }
  void free(trace::ObjectId id);
  void empty_cache(std::vector<Released>& released);
  // Call for every record except allocations and frees, in order.
  void follow(const trace::Record& record);
  void host_waits_for_device() { order_.host_waits_for_device(); }

  // Adds everything except the places of tensors, which Layout adds.
  void add_state(StateDigest& digest) const;

  std::uint64_t segment_count() const { return allocator_->segment_count(); }
  // Returns the bytes of all segments below the end of their highest tensor so far.
  std::uint64_t reached_bytes() const;

 private:
  struct Use {
    std::uint32_t stream = 0;
    std::uint64_t work = 0;
  };
  struct Tensor {
    std::uint64_t block = 0;  // id of the allocator
    std::uint64_t segment = 0, offset = 0;
    std::uint32_t stream = 0;
    std::vector<Use> other_streams;
  };
  // A block whose tensor was freed; it is free when these uses have finished.
  struct Waiting {
    std::uint64_t block = 0, segment = 0, offset = 0;
    std::vector<Use> uses;
  };

  void touch(trace::ObjectId id, std::uint32_t stream);
  void finish_waiting();
  void take_back(std::vector<Released>& released);

  std::unique_ptr<TensorAllocator> allocator_;
  RecordStream record_stream_;
  AddressSpace& space_;
  unsigned region_;
  StreamOrder order_;
  std::deque<BlockList> segments_;      // by number
  std::vector<std::uint64_t> reached_;  // by number: the end of the highest tensor so far
  std::unordered_map<trace::ObjectId, Tensor> tensors_;
  std::map<std::uint32_t, std::uint64_t> tensors_of_stream_;
  std::vector<Waiting> waiting_;
};

}  // namespace uvmsim::layout
