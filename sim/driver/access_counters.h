// SPDX-License-Identifier: Apache-2.0
// Access counters: GPUs count their accesses to remote memory, and the driver migrates hot regions to them.
//
// Follows NVIDIA UVM uvm_gpu_access_counters.c. Each 2 MB region (VA block) has a counter; when it reaches the
// threshold, the GPU sends a notification with one bit per 64 KB that was accessed. Batches of notifications are
// serviced like faults of access type "prefetch" that ignore accessed-by. Off unless driver.access_counter_migration is
// set: off is the driver's default on all systems without address translation services, which includes x86.
//
// With a policy in the slot `migrate` the driver's counters are off, and the policy chooses the pages that migrate.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/common/sparse_table.h"
#include "sim/driver/fault_service.h"

namespace uvmsim::driver {

class AccessCounters {
 public:
  AccessCounters(DriverContext& context, FaultService& service);

  bool enabled(unsigned gpu) const {
    return context_.system.driver.access_counter_migration || context_.gpus[gpu].migrator != nullptr;
  }

  // Counts `accesses` accesses of the GPU to `pages` of the block, which it maps remotely. Queues a notification when
  // the region's counter reaches the threshold; the counter then stands still until the notification is serviced.
  void on_remote_access(unsigned gpu, BlockIndex block, const PageMask& pages, std::uint64_t accesses);
  bool pending(unsigned gpu) const { return !gpus_[gpu].queue.empty() || !gpus_[gpu].fetches.empty(); }

  // Services all queued notifications of the GPU. Returns when the last copy is done; `now` if there is nothing to do.
  Nanoseconds service(unsigned gpu, Nanoseconds now);

  // Clears the counters and notifications of a block that was freed.
  void forget(BlockIndex block);

  void add_state(StateDigest& digest) const;

 private:
  struct Region {
    std::uint32_t accesses = 0;  // saturates at the threshold
    std::uint32_t units = 0;     // bit per 64 KB accessed since the counter was cleared
    std::uint16_t first_page = 0;
  };
  // Pages that the migrate policy asked to fetch.
  struct Fetch {
    BlockIndex block;
    PageMask pages;
  };
  struct Gpu {
    SparseTable<Region> regions;  // by block
    std::vector<BlockIndex> queue;
    std::vector<Fetch> fetches;
  };
  void ask_policy(unsigned gpu, BlockIndex block, const PageMask& pages, std::uint64_t accesses);
  void service_fetches(Work& work, unsigned gpu);
  PageMask accessed_pages(unsigned gpu, BlockIndex block, const Region& region) const;

  DriverContext& context_;
  FaultService& service_;
  std::vector<Gpu> gpus_;
};

}  // namespace uvmsim::driver
