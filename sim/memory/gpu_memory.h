// SPDX-License-Identifier: Apache-2.0
// The physical memory of one GPU that managed data may use: root chunks of 2 MB.
//
// A full-size VA block occupies one whole root chunk from its first page on. Shorter blocks (tails of allocations)
// share root chunks that are split into 32 slots of 64 KB; a partial 64 KB at the end occupies a whole slot. (Driver:
// 64 KB and 4 KB sub-chunks; the difference is at most 60 KB per allocation.) With small chunks every block consists of
// slots, in any chunks that have free ones, and each slot is evicted separately.
//
// A chunk has state from its first allocation on. Fresh chunks are allocated in order of id, so state grows with the
// number of chunks that were ever in use at the same time, not with the capacity.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/common/sparse_table.h"
#include "sim/common/state_digest.h"
#include "sim/common/units.h"
#include "sim/memory/chunk_id.h"
#include "sim/memory/page_mask.h"

namespace uvmsim {

// Evictors are not told of kForeign and kUnmanaged chunks. kForeign: spare memory that holds pages evicted by another
// GPU, or memory of malloc on a coherent machine. kUnmanaged: memory that a program holds in addition to managed
// memory.
enum class ChunkState : std::uint8_t { kFree, kPinned, kAllocated, kForeign, kUnmanaged };

struct RootChunk {
  static constexpr std::uint64_t kNoBlock = ~std::uint64_t{0};
  std::uint64_t block = kNoBlock;  // owner of a whole chunk
  ChunkState state = ChunkState::kFree;
  bool split = false;
  std::uint32_t used_slots = 0;    // of a split chunk, bit per 64 KB
  std::uint32_t pinned_slots = 0;  // with small chunks: the part of used_slots that an operation holds
  Nanoseconds ready{};             // when the copy that emptied it is done
  std::unique_ptr<std::array<std::uint64_t, kBigPagesPerBlock>> slot_owner;  // of a split chunk
};

// A 64 KB slot of a split root chunk.
struct SlotId {
  std::uint32_t chunk = ChunkId::kNone;
  std::uint8_t slot = 0;
  bool valid() const { return chunk != ChunkId::kNone; }
};

class GpuMemory {
 public:
  explicit GpuMemory(std::uint32_t chunk_count, bool small_chunks = false);

  // A ChunkId of evictors names a root chunk, or with small chunks a slot.
  bool small_chunks() const { return small_chunks_; }
  std::uint32_t evictor_chunks() const { return small_chunks_ ? chunk_count() * kBigPagesPerBlock : chunk_count(); }
  // Returns how many chunks, from 0 on, ever held anything; the others are free.
  std::uint32_t known_evictor_chunks() const {
    return small_chunks_ ? known_chunks() * kBigPagesPerBlock : known_chunks();
  }
  std::uint32_t free_evictor_chunks() const { return small_chunks_ ? free_slots() : free_chunks(); }
  static ChunkId small_chunk(SlotId s) { return ChunkId{s.chunk * kBigPagesPerBlock + s.slot}; }
  static SlotId slot_of(ChunkId small) {
    return {small.value / kBigPagesPerBlock, static_cast<std::uint8_t>(small.value % kBigPagesPerBlock)};
  }

  std::uint32_t chunk_count() const { return chunk_count_; }
  // Chunks [0, known_chunks()) were allocated at some time; the others are fresh: free and without state.
  std::uint32_t known_chunks() const { return static_cast<std::uint32_t>(chunks_.size()); }
  // Counts the chunks in this state by visiting every known chunk. The state must not be kFree.
  std::uint32_t count(ChunkState state) const {
    return static_cast<std::uint32_t>(
        std::count_if(chunks_.begin(), chunks_.end(), [&](const RootChunk& chunk) { return chunk.state == state; }));
  }
  std::uint32_t free_chunks() const { return static_cast<std::uint32_t>(free_.size()) + fresh_chunks(); }
  // Returns a known chunk. The reference is valid until the next allocate().
  RootChunk& chunk(ChunkId c) { return chunks_[c.value]; }
  const RootChunk& chunk(ChunkId c) const { return chunks_[c.value]; }

  // Returns a free root chunk, pinned until unpin(); an invalid id if memory is full.
  ChunkId allocate();
  // kLast: a chunk whose last contents are still being copied out is reused after the others.
  enum class Reuse : std::uint8_t { kNext, kLast };
  void release(ChunkId c, Reuse reuse = Reuse::kNext);

  // With small chunks, calls f(chunk, unit) for the slot of each unit of the block that `pages` touch.
  template <class F>
  void for_each_small_chunk(BlockIndex b, const PageMask& pages, F&& f) const {
    const std::unique_ptr<Slots>* const slots = slots_.find(b.value);
    if (slots == nullptr || !*slots) return;
    for (unsigned unit = 0; unit < kBigPagesPerBlock; ++unit) {
      const SlotId s = (**slots)[unit];
      if (s.valid() && pages.intersects(PageMask::range(unit * kPagesPerBigPage, kPagesPerBigPage))) {
        f(small_chunk(s), unit);
      }
    }
  }

  // Returns the whole chunk of a full-size block, or an invalid id.
  ChunkId whole(BlockIndex b) const { return whole_.value(b.value); }
  void bind_whole(BlockIndex b, ChunkId c);
  void unbind_whole(BlockIndex b);

  // Returns the slot of a 64 KB unit of a short block.
  SlotId slot(BlockIndex b, unsigned unit) const;
  // With small chunks: the block and unit that use a slot, and whether an operation holds the slot.
  struct SlotOwner {
    BlockIndex block;
    unsigned unit = 0;
  };
  bool used(SlotId s) const { return (chunks_[s.chunk].used_slots >> s.slot & 1) != 0; }
  SlotOwner owner(SlotId s) const;
  bool pinned(SlotId s) const { return (chunks_[s.chunk].pinned_slots >> s.slot & 1) != 0; }
  void pin(SlotId s) { chunks_[s.chunk].pinned_slots |= std::uint32_t{1} << s.slot; }
  void unpin(SlotId s) { chunks_[s.chunk].pinned_slots &= ~(std::uint32_t{1} << s.slot); }
  // Returns the free slots, of split chunks and of whole ones that could be split.
  std::uint32_t free_slots() const;

  // Returns a free slot in a split chunk that is partly used, or an invalid id if a new root chunk must be split.
  SlotId find_free_slot() const;
  void split(ChunkId c);
  // Makes an emptied split chunk whole again.
  void unsplit(ChunkId c);
  void bind_slot(BlockIndex b, unsigned unit, SlotId s);
  // Returns the root chunk if this was its last slot (the caller then releases it), else invalid.
  ChunkId unbind_slot(BlockIndex b, unsigned unit);

  // Returns a name for every known chunk, by its contents or its position among the free ones, because the state must
  // not depend on which physical chunk it is.
  std::vector<std::uint64_t> names() const;
  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const;

  // Calls f(block, page mask) for every block that owns part of the chunk.
  template <class F>
  void for_each_owner(ChunkId c, F&& f) const {
    if (const RootChunk& root = chunk(c); !root.split) {
      if (root.block != RootChunk::kNoBlock) f(BlockIndex(root.block), PageMask::all());
      return;
    }
    for (unsigned s = 0; s < kBigPagesPerBlock; ++s) {
      const RootChunk& root = chunk(c);
      if ((root.used_slots >> s & 1) == 0) continue;
      const std::uint64_t owner = (*root.slot_owner)[s] / kBigPagesPerBlock;
      bool seen = false;
      PageMask mask;
      for (unsigned t = 0; t < kBigPagesPerBlock; ++t) {
        if ((root.used_slots >> t & 1) == 0 || (*root.slot_owner)[t] / kBigPagesPerBlock != owner) continue;
        if (t < s) seen = true;
        mask.set_range(static_cast<unsigned>((*root.slot_owner)[t] % kBigPagesPerBlock) * kPagesPerBigPage,
                       kPagesPerBigPage);
      }
      if (!seen) f(BlockIndex(owner), mask);
    }
  }

 private:
  using Slots = std::array<SlotId, kBigPagesPerBlock>;
  std::uint32_t fresh_chunks() const { return chunk_count_ - known_chunks(); }

  bool small_chunks_;
  std::uint32_t chunk_count_;
  std::vector<RootChunk> chunks_;  // known ones
  // Known free chunks, a stack. All fresh chunks lie in it as well, above the first `below_fresh_`.
  std::vector<std::uint32_t> free_;
  std::size_t below_fresh_ = 0;
  SparseTable<ChunkId, 64> whole_;             // by block
  SparseTable<std::unique_ptr<Slots>> slots_;  // by block, only for short blocks
  std::vector<std::uint32_t> partly_used_;     // split chunks with a free slot, in order of splitting
};

}  // namespace uvmsim
