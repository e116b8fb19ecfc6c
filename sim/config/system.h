// SPDX-License-Identifier: Apache-2.0
// A system: one GPU server as the model sees it. Loaded from configs/systems/*.json (load_system.h).
//
// Every number in a system file has its source beside it. Costs are per system, never per workload. Durations are in
// nanoseconds, sizes in bytes, bandwidths in bytes per microsecond (= MB/s), so that the model stays in integers.
//
// A new member also needs its line in parameter_tables.h; loading, printing, --set and the JSON schema follow from
// there.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace uvmsim::config {

struct GpuConfig {
  std::string model;                 // as cudaGetDeviceProperties names it
  std::uint64_t memory_bytes = 0;    // device memory
  std::uint64_t reserved_bytes = 0;  // never available to managed memory (firmware, contexts, page tables)
  std::uint32_t sm_count = 0;
  std::uint32_t max_threads_per_sm = 2048;
  std::uint32_t max_blocks_per_sm = 32;
  std::uint32_t registers_per_sm = 65536;
  std::uint32_t shared_bytes_per_sm = 0;
  std::uint64_t sm_clock_khz = 0;
  std::uint64_t memory_bytes_per_us = 0;  // device memory bandwidth
  // Peaks, for scaling recorded durations between GPUs (sim/engine/time_scale.h).
  std::uint64_t fp32_flops_per_us = 0;  // without tensor cores
  std::uint64_t tf32_flops_per_us = 0;  // tensor cores, dense; 0: none
  std::uint64_t half_flops_per_us = 0;  // the same in fp16 and bf16, sums in fp32
};

struct GmmuConfig {
  std::uint32_t l1_tlb_entries = 16;  // per SM
  std::uint32_t l1_tlb_ways = 16;
  std::uint32_t l2_tlb_entries = 1024;  // shared
  std::uint32_t l2_tlb_ways = 16;
  std::uint32_t walk_cache_entries = 128;  // page-directory entries kept
  std::uint32_t walkers = 16;              // concurrent page walks
  std::uint32_t walk_levels_4k = 6;        // memory reads of a walk that ends in a 4 KB or 64 KB entry
  std::uint32_t walk_levels_2m = 5;
  std::uint64_t l2_tlb_hit_ns = 60;
  std::uint64_t walk_level_ns = 120;          // one memory read of a walk
  std::uint32_t fault_buffer_entries = 6144;  // raw faults the hardware buffer holds
  // How SMs raise faults. Found by replaying what each batch held in the ground truth; see sim/engine/README.md.
  std::uint32_t faults_per_sm = 14;               // raw faults one SM may have outstanding
  std::uint32_t faults_per_warp_access = 2;       // raw faults of one warp's contiguous access to one page
  bool warps_share_faults = false;                // a thread block's warps that miss on one page raise faults once
  std::uint32_t fresh_pages_per_instruction = 7;  // pages a scattered access may have out before its first replay
  std::uint32_t new_warps_per_replay = 1;         // warps of an SM whose first faults one replay lets through
  std::uint32_t issued_accesses_per_sm = 1;       // warp instructions under way in order; then the oldest block's
  std::uint64_t fault_walk_blocks = 1;            // VA blocks that the GPU's fault unit walked lately, at most 16
  std::uint64_t fault_block_ns = 28;              // the fault unit: a raw fault in any other VA block
  std::uint64_t fault_page_ns = 28;               // the same on another page of one of them than before
  std::uint64_t fault_repeat_ns = 5;              // a raw fault on the SM's last page
  std::uint64_t sm_first_spacing_ns = 3200;       // between faulting warps of one SM before its first replay
  std::uint64_t sm_spacing_ns = 240;              // between new faults of one SM afterwards
  std::uint64_t sm_retry_spacing_ns = 80;         // between retried faults of one SM
  std::uint64_t sm_page_spacing_ns = 50;          // between pages of one scattered access
  std::uint64_t replay_jitter_ns = 200;           // a replay reaches each SM within this
  std::uint64_t replay_sm_ns = 3;                 // and one SM after another
};

// One direction of a link, as measured: time of a transfer of n bytes = latency + n / bandwidth.
struct LinkDirectionConfig {
  std::uint64_t latency_ns = 0;    // first run of a push: set-up and flight
  std::uint64_t run_ns = 0;        // every contiguous run after it, pipelined
  std::uint64_t bytes_per_us = 0;  // asymptotic bandwidth
};
struct LinkConfig {
  std::string kind;  // "pcie", "nvlink", "c2c"
  LinkDirectionConfig host_to_device;
  LinkDirectionConfig device_to_host;
  std::uint64_t both_ways_bytes_per_us = 0;       // both directions together; 0 = sum of the two
  std::uint64_t zero_copy_read_bytes_per_us = 0;  // SMs reading host memory through a remote mapping
  std::uint64_t zero_copy_write_bytes_per_us = 0;
};

// A link between two GPUs: both map each other's memory and copy from it.
struct PeerRates {
  std::uint64_t latency_ns = 0;    // first run of a push by the driver
  std::uint64_t run_ns = 0;        // every contiguous run after it
  std::uint64_t bytes_per_us = 0;  // asymptotic bandwidth of one direction
  // An explicit copy (cudaMemcpyPeer) of n bytes takes longer by copy_ns + copy_ramp_ns * min(1, n / copy_ramp_bytes).
  std::uint64_t copy_ns = 0;
  std::uint64_t copy_ramp_ns = 0;
  std::uint64_t copy_ramp_bytes = 0;
  std::uint64_t remote_read_bytes_per_us = 0;  // SMs reading the peer's memory through a mapping
};
struct PeerLinkConfig {
  std::string kind;  // "nvlink" or "pcie"
  std::uint32_t first_gpu = 0, second_gpu = 0;
  PeerRates each_way;
  std::uint64_t both_ways_bytes_per_us = 0;  // both directions together; 0 = their sum
};
// A switch that joins GPUs: bytes_per_us is what one GPU can send, and receive, to and from any other.
struct PeerSwitchConfig {
  std::uint32_t first_gpu = 0;
  std::uint32_t gpu_count = 0;  // it and those after it
  PeerRates port;
};
// A PCIe switch: its GPUs share one link to the host.
struct UplinkConfig {
  std::uint32_t first_gpu = 0;
  std::uint32_t gpu_count = 0;  // it and those after it
  std::uint64_t host_to_device_bytes_per_us = 0;
  std::uint64_t device_to_host_bytes_per_us = 0;
};

struct HostConfig {
  std::uint64_t memory_bytes = 0;                // capacity of the host tier; 0 = unlimited
  std::uint64_t memory_bytes_per_us = 0;         // host bandwidth that all links share; 0 = unlimited
  std::uint64_t pageable_copy_bytes_per_us = 0;  // cudaMemcpy from pageable memory
  bool large_pages = true;                       // the driver backs blocks with 2 MB host chunks (driver >= 530)
  std::uint64_t reclaim_bytes = 2u << 20;        // what leaves a full host at once, and its unit of age
  std::uint32_t watermark_scale_factor = 10;     // free memory that is kept ahead of need, in 1/10000 of it
};
struct SsdConfig {                 // optional tier below the host (sim/driver/host_tier.h)
  std::uint64_t memory_bytes = 0;  // 0 = no such tier
  std::uint64_t read_bytes_per_us = 0;
  std::uint64_t write_bytes_per_us = 0;
  std::uint64_t read_latency_ns = 0;
  std::uint64_t write_latency_ns = 0;
  std::uint32_t queue_depth = 32;  // requests in flight, of reads and of writes
};

// After every batch, without or with a flush of the fault buffer. The driver's `block` and `once` are not modelled.
enum class ReplayPolicy : std::uint8_t { kBatch, kBatchFlush };

// Module parameters of the driver, by their names there without the uvm_perf_ prefix. Those of its prefetcher are the
// parameters of the policy `tree`.
struct DriverConfig {
  std::uint32_t version_major = 580;
  std::uint32_t fault_batch_count = 256;
  ReplayPolicy fault_replay_policy = ReplayPolicy::kBatchFlush;
  std::uint32_t fault_replay_update_put_ratio = 50;  // percent
  std::uint32_t fault_max_batches_per_service = 20;
  std::uint32_t fault_max_throttle_per_service = 5;
  bool fault_coalesce = true;
  bool thrashing_enable = true;
  std::uint32_t thrashing_threshold = 3;
  std::uint32_t thrashing_pin_threshold = 10;
  std::uint64_t thrashing_lapse_ns = 500000;
  std::uint64_t thrashing_nap_ns = 500000;
  std::uint64_t thrashing_epoch_ns = 1000000000;
  std::uint64_t thrashing_pin_ns = 150000000;
  std::uint32_t thrashing_max_resets = 4;
  bool thrashing_adaptive_lapse = false;  // as drivers from 590 on do
  bool access_counter_migration = false;
  std::uint32_t access_counter_threshold = 256;
  std::uint32_t access_counter_batch_count = 256;
  // What other drivers do otherwise (configs/drivers).
  std::uint64_t page_bytes = 4096;  // the least that a fault brings, aligned
  std::uint32_t reclaim_batch = 1;  // root chunks evicted when none is free
  bool reclaim_waits = false;       // the thread waits for their copies
  bool replicate = false;           // all memory is read-mostly: reads copy pages, writes move them
};

// What the driver's steps cost. `configs/README.md` says how each was fitted.
struct DriverCosts {
  std::uint64_t wakeup_ns = 8000;            // a fault's arrival until the sleeping service thread reads PUT
  std::uint64_t late_interrupt_ns = 180000;  // more, when a service period ended with faults waiting
  std::uint64_t first_fault_ns = 265000;     // the same for the first fault of all, and the most
  // A thread that slept longer than sleep_after_ns wakes later, by sleep_doubling_ns per doubling of its sleep, up to
  // first_fault_ns.
  std::uint64_t sleep_after_ns = 50000;
  std::uint64_t sleep_doubling_ns = 21000;
  std::uint64_t poll_read_ns = 2000;              // after a replay until the service thread reads PUT again
  std::uint64_t batch_ns = 2300;                  // fetch and preprocess a batch
  std::uint64_t raw_fault_ns = 64;                // per raw entry fetched
  std::uint64_t fault_entry_ns = 400;             // per entry left after coalescing
  std::uint64_t stale_block_ns = 480;             // per VA block in the batch, all of it served before
  std::uint64_t block_ns = 1600;                  // per VA block with faults to serve
  std::uint64_t new_chunk_ns = 6000;              // first population of a block on the GPU: chunk and page tables
  std::uint64_t unmap_host_run_ns = 3000;         // per contiguous run of pages that the CPU has mapped
  std::uint64_t unmap_host_page_ns = 120;         // and per page in it, or taken from another GPU
  std::uint64_t unmap_peer_ns = 5000;             // per block with pages that another GPU has mapped
  std::uint64_t push_ns = 2500;                   // a push of copies
  std::uint64_t push_run_ns = 150;                // per run in it
  std::uint64_t push_to_engine_ns = 1300;         // until the copy engine starts
  std::uint64_t push_gap_ns = 1250;               // between two pushes on one copy engine
  std::uint64_t after_push_ns = 1400;             // CPU work of a block after its copies are pushed
  std::uint64_t after_copies_ns = 8100;           // and of a batch in which something was copied
  std::uint64_t map_block_ns = 3500;              // page-table entries, per block
  std::uint64_t map_page_ns = 5;                  // and per 4 KB page made resident
  std::uint64_t populate_page_ns = 100;           // per 4 KB page that was resident nowhere
  std::uint64_t copies_done_ns = 2500;            // last copy until the GPU is ready for the replay
  std::uint64_t dma_map_chunk_ns = 0;             // first DMA mapping of a block's host chunk
  std::uint64_t replay_ns = 2000;                 // end of the batch's work until the replay is issued
  std::uint64_t replay_lead_ns = 0;               // the GPU replays this long before the thread goes on, when nothing
                                                  // was copied or populated
  std::uint64_t protect_block_ns = 0;             // mappings of a block that stay get other rights
  std::uint64_t remote_map_ns = 2000;             // per block mapped remotely
  std::uint64_t evict_chunk_ns = 5100;            // driver work of one eviction, without its copy
  std::uint64_t evict_page_ns = 50;               // and per page that it copies to the host
  std::uint64_t unmap_gpu_ns = 5000;              // on the GPU: a victim's page-table entries go, TLBs forget them
  std::uint64_t host_allocate_chunk_ns = 120000;  // allocate a 2 MB host chunk
  std::uint64_t host_zero_page_ns = 0;            // zero a host page that was resident nowhere
  std::uint64_t cpu_fault_ns = 20500;             // one CPU fault, without its copy
  std::uint64_t cpu_fault_page_ns = 195;          // per page made resident on the host
  std::uint64_t prefetch_call_block_ns = 6000;    // cudaMemPrefetchAsync, per block
};

// What the GPU and the host program pay outside the driver.
struct RuntimeCosts {
  std::uint64_t launch_ns = 4000;            // host time of a kernel launch
  std::uint64_t kernel_start_ns = 2000;      // launch until the first instruction
  std::uint64_t synchronize_ns = 4000;       // return of a synchronising call
  std::uint64_t touch_ns = 600;              // a lone thread's dependent load from another page
  std::uint64_t touch_write_ns = 420;        // its store to one
  std::uint64_t load_ns = 200;               // loads of a warp, many warps running
  std::uint64_t store_ns = 25;               // its stores
  std::uint64_t load_after_store_ns = 1410;  // before a load that follows a store
  std::uint64_t block_start_ns = 1000;       // a finished thread block's place is taken by the next
  // Of a GPU that several processes share.
  std::uint64_t context_bytes = 0;           // memory that the context of every further process takes
  std::uint64_t time_slice_ns = 2091000;     // how long a process computes while another one waits
  std::uint64_t context_switch_ns = 152000;  // then the GPU computes for neither
  std::uint64_t block_launch_ns = 4;         // between the first thread blocks of a kernel
  std::uint64_t block_dispatch_ns = 0;       // between two thread blocks that an SM takes up later
  std::uint64_t allocate_ns = 6800;          // cudaMallocManaged
  std::uint64_t allocate_ns_per_gib = 8500;
  std::uint64_t free_ns = 6300;  // cudaFree of managed memory, untouched
  std::uint64_t free_untouched_ns_per_gib = 4700;
  std::uint64_t free_touched_ns = 22500;     // cudaFree of managed memory that was populated
  std::uint64_t free_ns_per_mib = 6800;      // per populated MiB beyond the first two
  std::uint64_t device_allocate_ns = 30000;  // cudaMalloc
  std::uint64_t device_allocate_ns_per_gib = 100000;
  std::uint64_t device_free_ns = 24300;  // cudaFree of that
  std::uint64_t device_free_ns_per_gib = 240000;
  // Accesses of SMs to host memory in place (sim/link/remote_lane.h); 0 = no limit.
  std::uint64_t remote_runs_per_us = 0;             // contiguous pieces, however short
  std::uint64_t remote_both_ways_bytes_per_us = 0;  // reads and writes together
  std::uint64_t unmanaged_bytes = 0;                // GPU memory taken by what is not managed, out of footprint / OSF
};

struct SystemConfig {
  std::string name;
  std::string description;
  std::vector<GpuConfig> gpus;         // index = device
  std::vector<LinkConfig> host_links;  // one per GPU
  std::vector<UplinkConfig> uplinks;
  std::vector<PeerLinkConfig> peer_links;
  std::vector<PeerSwitchConfig> peer_switches;
  GmmuConfig gmmu;
  HostConfig host;
  SsdConfig ssd;
  DriverConfig driver;
  DriverCosts costs;
  RuntimeCosts runtime;
  // Where each parameter comes from, by its dotted key ("costs.batch_ns", "gpus.0.sm_count"). Filled by the loader.
  std::map<std::string, std::string> sources;
};

}  // namespace uvmsim::config
