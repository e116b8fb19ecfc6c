// Gives the trace's objects simulated addresses: which VA blocks hold them.
//
//   none      every object is one cudaMallocManaged: 2 MB and more get a range of their own, 2 MB aligned; smaller
//             ones share 2 MB ranges, first fit (measured on driver 580: faults in a small allocation grow past its
//             end)
//   recorded  as none, but what does not own its range keeps its recorded address modulo 2 MB and shares blocks with
//             what it shared them with when it was recorded
// Tensors live where their object is, at their recorded offset; a tensor without an object is an object of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/common/units.h"
#include "sim/memory/address_space.h"
#include "sim/trace/record.h"

namespace uvmsim::layout {

// Where an object is: its first byte lies `offset` bytes into blocks[0]; the blocks need not be adjacent.
struct Placement {
  std::vector<BlockIndex> blocks;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  bool managed = true;  // false: plain device, pinned or host memory, outside the model
};

class Layout {
 public:
  // Throws InputError naming the known layouts.
  Layout(const std::string& name, AddressSpace& space);

  // Throw InputError for a double allocation, an unknown id, overlapping recorded objects, an object freed under a
  // live tensor.
  const Placement& allocate(const trace::ObjectAlloc& object);
  const Placement& allocate(const trace::TensorAlloc& tensor);
  const Placement& find(trace::ObjectId id) const;
  // False for a tensor inside another object.
  bool owns_memory(trace::ObjectId id) const { return !tensor_owner_.contains(id); }
  void free(trace::ObjectId id, const std::function<void(BlockIndex)>& release);
  void free_tensor(trace::ObjectId id, const std::function<void(BlockIndex)>& release);

  std::uint64_t live_bytes() const { return live_bytes_; }  // managed only
  std::uint64_t peak_bytes() const { return peak_bytes_; }

 private:
  enum class Kind : std::uint8_t { kNone, kRecorded };
  struct Slab {  // a shared 2 MB range: free byte ranges by offset
    BlockIndex block;
    std::map<std::uint64_t, std::uint64_t> free;
    std::uint64_t used = 0;
  };

  Placement place_none(std::uint64_t bytes);
  Placement place_recorded(std::uint64_t va, std::uint64_t bytes);
  void remove(const Placement& placement, const std::function<void(BlockIndex)>& release);
  const Placement& insert(trace::ObjectId id, Placement placement);

  Kind kind_;
  AddressSpace& space_;
  std::unordered_map<trace::ObjectId, Placement> placements_;
  std::unordered_map<trace::ObjectId, trace::ObjectId> tensor_owner_;  // tensors that own no memory
  std::unordered_map<trace::ObjectId, std::uint64_t> tensors_in_;      // live ones, by object
  std::map<std::uint64_t, Slab> slabs_;                                // by block, for `none`
  struct Window {
    BlockIndex block;
    std::uint32_t users = 0;
  };
  std::map<std::uint64_t, Window> windows_;                 // recorded address >> 21, for `recorded`
  std::map<std::uint64_t, std::uint64_t> recorded_ranges_;  // live recorded [va, va + bytes)
  std::unordered_map<trace::ObjectId, std::uint64_t> recorded_va_;
  std::uint64_t live_bytes_ = 0, peak_bytes_ = 0;
};

// The names, for help and errors.
const std::vector<std::string>& layout_names();

}  // namespace uvmsim::layout
