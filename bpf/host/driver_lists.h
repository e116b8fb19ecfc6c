// SPDX-License-Identifier: Apache-2.0
// The driver's eviction with the hooks of gpu_ext: chunks on lists, which are evicted from their heads.
#pragma once

#include "bpf/host/session.h"

namespace uvmsim::bpf {

// The reaction of a driver to its events (policy.h: Evictor), as in uvm_pmm_gpu.c of NVIDIA UVM 575 with gpu_ext's
// hooks:
// - A chunk that becomes evictable goes to the tail of USED. Then `activate` is called, which may move it; its answer
//   is not used.
// - When pages migrate to a chunk that is on a list, `used` is called; then the chunk goes to the tail of USED unless
//   the answer is bypass.
// - In the third interface both hooks request a place instead of moving the chunk; an invalid place, or two places, are
//   refused.
// - A chunk that lost its last page goes to the tail of UNUSED, a discarded one to that of DISCARDED; no hook is
//   called.
// - Before each eviction `prepare` is called. Then the first evictable chunk of UNUSED, DISCARDED, USED (in this order)
//   is evicted.
class DriverLists {
 public:
  DriverLists(Session& session, std::uint32_t chunk_count);

  void allocated(ChunkId chunk, policy::ContentIndex content);
  void belongs_to(ChunkId chunk, std::uint32_t process);
  void migrated(ChunkId chunk);
  void emptied(ChunkId chunk) { put_last(kUnused, chunk); }
  void discarded(ChunkId chunk) { put_last(kDiscarded, chunk); }
  void released(ChunkId chunk) { take_off(chunk); }
  ChunkId victim(const policy::EvictionQueries& queries);

  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const;

 private:
  enum List : unsigned { kUnused, kDiscarded, kUsed };
  static_assert(kUsed + 1 == Session::kListCount);

  void put_last(List list, ChunkId chunk);
  void take_off(ChunkId chunk);
  int run(const char* name, int (*program)(void*, void*, void*), ChunkId chunk);
  bool carry_out_request(ChunkId chunk);
  void fill(ChunkId chunk, std::uint32_t process);

  Session& session_;
  std::vector<policy::ContentIndex> contents_;  // by chunk
  std::vector<std::uint32_t> generations_;      // by chunk: number of its moves
  std::vector<List> list_of_;                   // by chunk, for chunks on a list
};

}  // namespace uvmsim::bpf
