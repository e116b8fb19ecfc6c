// SPDX-License-Identifier: Apache-2.0
// Gives the trace's objects simulated addresses, in VA blocks.
//
//      none                 every object and every tensor is one cudaMallocManaged: from 2 MB on it has a range of its
//      own,
//                           2 MB aligned; smaller ones share 2 MB ranges, first fit (measured on driver 580: faults in
//                           a small allocation grow past its end)
//      recorded             objects as under none, but an object that shares a range keeps its recorded address modulo
//                           2 MB and shares blocks with the same objects as in the recording; tensors lie in their
//                           objects, at their recorded offset
//      pytorch_caching      tensors lie where PyTorch's caching allocator would place them (caching_allocator.h), in
//                           segments that are managed allocations of their own; other objects as under none
//      expandable_segments  the same with PyTorch's expandable segments (expandable_allocator.h): managed reservations
//      in
//                           which memory appears in handles
//      preallocating        the same with the allocator of TensorFlow and XLA (best_fit_allocator.h): an arena that is
//      one
//                           managed allocation, made for the first tensor
//
// Except under `recorded`, the segments of the recording are empty and get no memory, unless a record touches a segment
// itself (not a tensor in it): from then on it is placed as any object.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/common/state_digest.h"
#include "sim/common/units.h"
#include "sim/layout/block_list.h"
#include "sim/layout/layout_choice.h"
#include "sim/layout/tensor_memory.h"
#include "sim/memory/address_space.h"
#include "sim/trace/record.h"

namespace uvmsim::layout {

// The place of an object: its first byte lies `offset` bytes into blocks[0]; the blocks need not be adjacent.
struct Placement {
  BlockList blocks;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool managed = true;   // it has blocks; false: device or host memory outside the model
  bool device = false;   // cudaMalloc
  bool owns = true;      // freeing it is a call of the driver; false: it is part of another allocation
  std::int32_t gpu = 0;  // with `device`: the device of the trace that has the memory
  MemoryKind kind = MemoryKind::kManaged;  // of its blocks
  bool is_pinned = false;                  // cudaMallocHost, with or without blocks

  // Calls f(block, first, count) for pages [page, end) of the blocks, block by block.
  template <class F>
  void for_each_part(std::uint64_t page, std::uint64_t end, F&& f) const {
    while (page < end) {
      const auto first = static_cast<unsigned>(page % kPagesPerBlock);
      const auto count = static_cast<unsigned>(std::min<std::uint64_t>(end - page, kPagesPerBlock - first));
      f(blocks[page / kPagesPerBlock], first, count);
      page += count;
    }
  }
  // Calls f(first, count) for pages [page, end) of the blocks, in contiguous stretches; each begins at page `first` of
  // the address space.
  template <class F>
  void for_each_stretch(std::uint64_t page, std::uint64_t end, F&& f) const {
    blocks.for_each_run([&](const BlockList::Run& run) {
      const std::uint64_t before = run.at * kPagesPerBlock;
      const std::uint64_t from = std::max(page, before), to = std::min(end, before + run.count * kPagesPerBlock);
      if (from < to) f(run.first.value * kPagesPerBlock + (from - before), to - from);
    });
  }
  // Return the first page of byte `begin` on, and the page behind the last one before byte `end`.
  std::uint64_t first_page(std::uint64_t begin) const { return (offset + begin) / kBasePageBytes; }
  std::uint64_t end_page(std::uint64_t end) const { return (offset + end + kBasePageBytes - 1) / kBasePageBytes; }
};

// Called before blocks [first, first + count) go back to the driver.
using Release = std::function<void(BlockIndex first, std::uint64_t count)>;

class Layout {
 public:
  // Places objects in a region of the address space. Throws InputError for an unknown name or parameter
  // (layout_choice.h). `pinned_has_blocks`: GPUs reach memory of the host, so that pinned memory is part of the model,
  // too.
  Layout(const LayoutChoice& choice, AddressSpace& space, unsigned region = 0, bool pinned_has_blocks = false);

  // The memory that a call took from the driver. Growth of an existing segment costs no further call.
  struct Taken {
    std::uint64_t calls = 0;         // cudaMallocManaged
    std::uint64_t bytes = 0;         // of managed memory
    std::uint64_t device_bytes = 0;  // of one cudaMalloc
  };
  struct Allocated {
    const Placement& placement;
    Taken taken;
  };
  // These throw InputError for a double allocation, an unknown id, overlapping recorded objects, and an object freed
  // under a live tensor. `is_segment` is the answer of SegmentFinder.
  Allocated allocate(const trace::ObjectAlloc& object, bool is_segment = false);
  Allocated allocate(const trace::TensorAlloc& tensor);
  // Call for every record, before its work is done. Notes which streams use which tensors, what the host waits for, and
  // which segments of the recording the record touches itself. Places those segments and calls placed() for each. The
  // same record may be passed several times in a row.
  void follow(const trace::Record& record, const std::function<void(trace::ObjectId, const Taken&)>& placed = {});
  // Call when a record touches the object itself.
  Taken touch(trace::ObjectId id);
  bool has_empty_segments() const { return empty_segments_ != 0; }
  // The memory that allocate() and free() returned in addition to the object itself: segments of an allocator, one
  // cudaFree each. They keep their blocks until drop_released(), because cudaFree first waits for the device.
  const std::vector<Released>& released() const { return released_; }
  void drop_released(const Release& release);

  // Returns the segments that an allocator of the layout has opened so far.
  std::uint64_t segment_count() const { return tensor_memory_ ? tensor_memory_->segment_count() : 0; }
  // Returns how much of an arena allocated ahead tensors have reached so far; 0 if the layout has none.
  std::uint64_t arena_reached_bytes() const { return has_arena_ ? tensor_memory_->reached_bytes() : 0; }

  const Placement& find(trace::ObjectId id) const;
  void free(trace::ObjectId id, const Release& release);
  // A tensor that owns no memory can still be found until forget(), as kernels launched before may not have run.
  void free_tensor(trace::ObjectId id, const Release& release);
  void forget(trace::ObjectId tensor);

  // Objects are named by the order of their ids; a repeated iteration gives its objects ids in the same order.
  void add_state(StateDigest& digest) const;

  std::uint64_t live_bytes() const { return live_bytes_; }  // bytes of objects with blocks
  // Returns the peak of GPU memory that live managed and system memory needs to lie on the GPU as a whole, in 2 MB
  // chunks; short blocks share some chunks in slots of 64 KB.
  std::uint64_t peak_chunk_bytes() const {
    return (peak_slots_ + kBigPagesPerBlock - 1) / kBigPagesPerBlock * kBlockBytes;
  }

 private:
  struct Slab {  // a shared 2 MB range: free byte ranges by offset
    BlockIndex block;
    std::map<std::uint64_t, std::uint64_t> free;
    std::uint64_t used = 0;
  };

  Placement place_none(std::uint64_t bytes);
  Placement place_alone(std::uint64_t bytes, MemoryKind kind);
  Placement place_recorded(std::uint64_t va, std::uint64_t bytes);
  static Placement place_inside(const BlockList& blocks, std::uint64_t start, std::uint64_t bytes);
  Allocated allocate_by_framework(const trace::TensorAlloc& tensor);
  void note_released(std::size_t from);
  void remove(const Placement& placement, const Release& release);
  Allocated insert(trace::ObjectId id, Placement placement);
  void take_slots(std::uint64_t count);

  bool recorded_ = false;   // the layout is `recorded`
  bool has_arena_ = false;  // the layout is `preallocating`
  bool pinned_has_blocks_ = false;
  std::unique_ptr<TensorMemory> tensor_memory_;  // of frameworks' allocators
  bool follow_empty_cache_ = false;
  std::uint64_t small_alignment_ = 512;
  AddressSpace& space_;
  unsigned region_;
  std::unordered_map<trace::ObjectId, Placement> placements_;
  std::unordered_map<trace::ObjectId, trace::ObjectId> tensor_owner_;  // live tensors with an object, by tensor
  std::unordered_map<trace::ObjectId, std::uint64_t> tensors_in_;      // live ones, by object
  std::map<std::uint64_t, Slab> slabs_;                                // by block, for `none`
  struct Window {
    BlockIndex block;
    std::uint32_t users = 0;
  };
  std::map<std::uint64_t, Window> windows_;                 // recorded address >> 21, for `recorded`
  std::map<std::uint64_t, std::uint64_t> recorded_ranges_;  // live recorded [va, va + bytes)
  std::unordered_map<trace::ObjectId, std::uint64_t> recorded_va_;
  // addresses of recorded segments that no segment of the model uses yet
  std::unordered_map<trace::ObjectId, std::uint64_t> unused_vas_;
  std::vector<Released> released_;
  std::uint64_t live_bytes_ = 0, live_slots_ = 0, peak_slots_ = 0;
  std::uint64_t empty_segments_ = 0;
};

}  // namespace uvmsim::layout
