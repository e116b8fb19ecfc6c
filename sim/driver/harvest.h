// SPDX-License-Identifier: Apache-2.0
// Spare memory of other GPUs as a cache of what a GPU evicts: HUVM / memHarvester (Choi et al., USENIX ATC '22).
//
// A 2 MB victim goes over NVLink into a free chunk of a peer instead of to the host ("pending": the only copy). A
// writer thread, one at a time, copies it on from there to the host; then the chunk is "safe": the peer takes it back
// without a copy when it needs memory itself. A fault brings the block back from the peer and frees the chunk.
// Reference: the released driver (github.com/casys-kaist/HUVM, driver 460), as told in its source.
//
// The writer is not on the clock: what it has begun by now is worked off at every look (advance). Chunks are
// named by their block; blocks of several programs may lie on one GPU.
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
  // Topology and GPUs must outlive it.
  Harvest(const HarvestChoice& choice, const link::Topology& topology, std::vector<GpuState>& gpus);

  const HarvestChoice& choice() const { return choice_; }
  // What moves the pages of the program that runs on the GPU. Before anything is evicted there.
  void connect(unsigned gpu, HarvestMoves& moves) { moves_[gpu] = &moves; }

  // Whether a chunk of some GPU holds what another one evicted of the block; on which.
  bool holds(BlockIndex block) const { return spares_.value(block.value).is_used(); }
  unsigned where(BlockIndex block) const { return spares_.value(block.value).spare; }

  // Whether spare memory of a GPU can take a block of the one that harvests: it is a peer, has more free and safe
  // chunks than the reserve, and no memory for the block. Whose takes it, the route policy says.
  bool has_room(unsigned gpu, unsigned spare, BlockIndex block) const;
  // A chunk there for the block: free, or the safe one that has waited longest, which costs `work` as in give_back.
  ChunkId take(Work& work, unsigned spare, BlockIndex block, unsigned home);
  // The copy into it ends then; the writer may begin. `safe`: the host has a copy already.
  void arrives(BlockIndex block, Nanoseconds arrived, bool safe = false);
  // It came by prefetch; and whether it has, once.
  void note_prefetched(BlockIndex block) { spares_[block.value].prefetched = true; }
  bool take_prefetched(BlockIndex block) { return std::exchange(spares_[block.value].prefetched, false); }

  // The GPU needs memory for itself: the oldest safe chunk goes, else the oldest pending one as soon as it is written.
  // The driver takes it as it evicts, and the waiting operation pays for that. False: it lends none.
  bool give_back(Work& work, unsigned spare);
  // The block left the chunk (it was fetched, freed or dropped): the chunk is free.
  void release(BlockIndex block);

  // The lending GPU uses the block itself: from now on the chunk is its own.
  void adopt(BlockIndex block);

  // Chunks that the GPU can have without evicting: lent ones.
  std::uint32_t lent(unsigned gpu) const { return pending_count_[gpu] + safe_count_[gpu]; }
  std::uint32_t pending(unsigned gpu) const { return pending_count_[gpu]; }

  // The writer works off what it begins until `now`.
  void advance(Nanoseconds now);

  // A GPU harvests from its first eviction until a peer uses its spare memory.
  void note_eviction(unsigned gpu) { harvests_[gpu] = true; }
  bool harvests(unsigned gpu) const { return harvests_[gpu]; }

  // When the thread that keeps the reserve of a GPU is free.
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
  std::deque<BlockIndex> queue_;                           // of the writer; may name blocks that are gone or safe
  std::vector<std::deque<BlockIndex>> safe_, pending_;     // by lending GPU, oldest first; likewise
  std::vector<std::uint32_t> pending_count_, safe_count_;  // by lending GPU
  std::vector<Nanoseconds> keepers_;                       // by GPU
  std::vector<bool> harvests_;                             // likewise
  Nanoseconds writer_free_at_{};
};

}  // namespace uvmsim::driver
