// SPDX-License-Identifier: Apache-2.0
// Spare memory of other GPUs as a cache of evicted blocks: HUVM / memHarvester (Choi et al., USENIX ATC '22).
//
// A 2 MB victim goes over NVLink into a free chunk of a peer instead of to the host; the chunk is then "pending", the
// only copy. A writer thread copies one pending chunk at a time from there to the host; then the chunk is "safe": the
// peer takes it back without a copy when it needs memory itself. A fault fetches the block from the peer and frees the
// chunk. Reference: the source of the released driver (github.com/casys-kaist/HUVM, driver 460).
//
// The writer has no events of its own: every call of advance() performs the copies that it has begun by then. Chunks
// are named by their block; blocks of several programs may lie on one GPU.
#pragma once

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "sim/common/sparse_table.h"
#include "sim/driver/context.h"
#include "sim/driver/harvest_choice.h"

namespace uvmsim::driver {

class HarvestMoves;

class Harvest {
 public:
  // Keeps references to the topology and the GPUs.
  Harvest(const HarvestChoice& choice, const link::Topology& topology, std::vector<GpuState>& gpus);

  const HarvestChoice& choice() const { return choice_; }
  // Sets the object that moves the pages of the program that runs on the GPU; must precede the GPU's first eviction.
  void connect(unsigned gpu, HarvestMoves& moves) { moves_[gpu] = &moves; }

  // Returns whether a chunk of some GPU holds pages of the block that another GPU evicted; where() returns that GPU.
  bool holds(BlockIndex block) const { return spares_.value(block.value).is_used(); }
  unsigned where(BlockIndex block) const { return spares_.value(block.value).spare; }

  // Returns whether spare memory of the GPU `spare` can take a block that `gpu` evicts: it is a peer, has more free and
  // safe chunks than the reserve, and no memory for the block. The route policy chooses among such peers.
  bool has_room(unsigned gpu, unsigned spare, BlockIndex block) const;
  // Returns the route of a victim of the GPU if part of its block is in lent memory already: the rest goes there too if
  // a link leads there.
  std::optional<policy::Route> way_out(BlockIndex block, unsigned gpu) const;
  // Returns a chunk of the GPU `spare` for a block of `home`: a free one, or the oldest safe one, as by give_back().
  ChunkId take(Work& work, unsigned spare, BlockIndex block, unsigned home);
  // Ends the copy into the chunk at `arrived`; the writer may begin then. `safe`: the host has a copy already.
  void arrives(BlockIndex block, Nanoseconds arrived, bool safe = false);
  // Marks a block that was prefetched into spare memory; take_prefetched() returns the mark and clears it.
  void note_prefetched(BlockIndex block) { spares_[block.value].prefetched = true; }
  bool take_prefetched(BlockIndex block) { return std::exchange(spares_[block.value].prefetched, false); }

  // Frees a lent chunk because the GPU itself needs it: the oldest safe one, else the oldest pending one after it is
  // written to the host. The driver evicts the chunk, and the waiting operation spends the time. Returns false if the
  // GPU lends no chunk.
  bool give_back(Work& work, unsigned spare);
  // Frees the chunk of a block that left it (it was fetched, freed or dropped).
  void release(BlockIndex block);

  // Turns the block's chunk into the GPU's own if the GPU lends it, because that GPU now uses the block itself.
  void adopt(BlockIndex block, unsigned gpu);

  // Returns the number of chunks that the GPU lends; it can reclaim them without evicting blocks of its own.
  std::uint32_t lent(unsigned gpu) const { return pending_count_[gpu] + safe_count_[gpu]; }
  std::uint32_t pending(unsigned gpu) const { return pending_count_[gpu]; }

  // Lets the writer do all copies that it begins until `now`.
  void advance(Nanoseconds now);

  // Marks that the GPU evicts: it harvests from then on until a peer uses its spare memory.
  void note_eviction(unsigned gpu) { harvests_[gpu] = true; }
  bool harvests(unsigned gpu) const { return harvests_[gpu]; }

  // Returns when the thread that keeps the reserve of a GPU is free.
  Nanoseconds& keeper_free_at(unsigned gpu) { return keepers_[gpu]; }

 private:
  struct Spare {
    static constexpr std::uint8_t kNone = 0xff;
    std::uint8_t spare = kNone, home = kNone;
    bool safe = false;
    bool prefetched = false;
    Nanoseconds arrived{};
    bool is_used() const { return spare != kNone; }
  };

  Nanoseconds write(BlockIndex block, Nanoseconds start);
  bool can_lend(unsigned gpu) const;

  HarvestChoice choice_;
  const link::Topology& topology_;
  std::vector<GpuState>& gpus_;
  std::vector<HarvestMoves*> moves_;                       // by GPU
  SparseTable<Spare> spares_;                              // by block
  std::deque<BlockIndex> queue_;                           // of the writer; may name blocks that are freed or safe
  std::vector<std::deque<BlockIndex>> safe_, pending_;     // by lending GPU, oldest first; may be outdated
  std::vector<std::uint32_t> pending_count_, safe_count_;  // by lending GPU
  std::vector<Nanoseconds> keepers_;                       // by GPU
  std::vector<bool> harvests_;                             // by GPU
  Nanoseconds writer_free_at_{};
};

// Returns whether a GPU holds the block for another one; its pages there are mapped by no processor.
inline bool is_lent(const DriverContext& context, BlockIndex block) {
  return context.harvest != nullptr && context.harvest->holds(block);
}

}  // namespace uvmsim::driver
