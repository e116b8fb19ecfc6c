// SPDX-License-Identifier: Apache-2.0
// Tensors under the allocator of a framework: which VA blocks its segments are made of, and when a tensor's block may
// be used again.
//
// A block is free as soon as its tensor is, for the same stream orders what comes next. Not so when work of another
// stream may still use it: PyTorch then waits for that stream, if the program said so (record_stream). Traces hold no
// such calls. What they tell is which streams touched a tensor, and whether the tensor's own stream waited for them
// before it was freed. If it did, nothing had to be said; if it did not, a correct program must have said it.
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

  // Where a tensor lies: its segment's blocks and the offset in the segment.
  struct Place {
    const BlockList& blocks;  // of the whole segment; those without memory are not to be used
    std::uint64_t offset = 0;
    bool new_segment = false;       // by one call of the driver
    std::uint64_t taken_bytes = 0;  // memory that appears in a reservation costs no call
  };
  // `segment_address` as in TensorAllocator. Adds what is given back to `released`.
  Place allocate(trace::ObjectId id, std::uint64_t bytes, std::uint32_t stream, std::uint64_t segment_address,
                 std::vector<Released>& released);
  bool contains(trace::ObjectId id) const { return tensors_.contains(id); }
  void free(trace::ObjectId id);
  void empty_cache(std::vector<Released>& released);
  // Every record but allocations and frees, in order.
  void follow(const trace::Record& record);
  void host_waits_for_device() { order_.host_waits_for_device(); }

  // Besides where the tensors lie, which Layout knows.
  void add_state(StateDigest& digest) const;

  std::uint64_t segment_count() const { return allocator_->segment_count(); }
  // Of all segments, what lies below the end of the highest tensor so far.
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
  // Was freed, and is free when these uses are over.
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
