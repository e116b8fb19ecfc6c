// SPDX-License-Identifier: Apache-2.0
// A system: one GPU server as the model sees it. Loaded from configs/systems/*.json (load_system.h).
//
// Every number in a system file has its source beside it. Costs are per system, never per workload. Durations are in
// nanoseconds, sizes in bytes, bandwidths in bytes per microsecond (= MB/s), so that the model stays in integers.
//
// Each parameter stands here once: type, name, default, what is allowed (schema.cpp), meaning. Its unit follows from
// the suffix of its name (quantity.h). The member, the loader, --set, `uvmsim systems`, JSON and the schema follow.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace uvmsim::config {

// When faults are replayed: after every batch, without or with a flush of the fault buffer. The driver's `block` and
// `once` are not modelled.
enum class ReplayPolicy : std::uint8_t { kBatch, kBatchFlush };

// clang-format off
// In output order. A default outside of what is allowed means that a system has to state the parameter.
#define UVMSIM_GPU_PARAMETERS(X) \
  X(std::string, model, {}, kText, "name of the product, as cudaGetDeviceProperties gives it") \
  X(std::uint64_t, memory_bytes, 0, kGpuMemory, "device memory, as the driver reports it") \
  X(std::uint64_t, reserved_bytes, 0, kMemory, "the part that managed memory never gets") \
  X(std::uint32_t, sm_count, 0, between(1, 4096), "streaming multiprocessors") \
  X(std::uint32_t, max_threads_per_sm, 2048, between(32, 65536), "resident threads per SM") \
  X(std::uint32_t, max_blocks_per_sm, 32, between(1, 1024), "resident thread blocks per SM") \
  X(std::uint32_t, registers_per_sm, 65536, between(1024, 1u << 24), "32-bit registers per SM") \
  X(std::uint32_t, shared_bytes_per_sm, 0, between(1024, 1u << 30), "shared memory per SM") \
  X(std::uint64_t, sm_clock_khz, 0, between(1000, 100 * kMillion), "highest clock of the SMs") \
  X(std::uint64_t, memory_bytes_per_us, 0, kBandwidth, "device memory bandwidth") \
  /* Peaks, for scaling recorded durations between GPUs (sim/engine/time_scale.h) */ \
  X(std::uint64_t, fp32_flops_per_us, 0, between(1, kMillion * kMillion), "peak single precision") \
  X(std::uint64_t, tf32_flops_per_us, 0, between(0, kMillion * kMillion), \
    "peak of the tensor cores in TF32, dense; 0 is none") \
  X(std::uint64_t, half_flops_per_us, 0, between(0, kMillion * kMillion), \
    "peak of the tensor cores in fp16 and bf16 with sums in fp32, dense; 0 is none")

#define UVMSIM_GMMU_PARAMETERS(X) \
  X(std::uint32_t, l1_tlb_entries, 16, kEntries, "translations in the TLB of one SM") \
  X(std::uint32_t, l1_tlb_ways, 16, kEntries, "its associativity; divides the entries") \
  X(std::uint32_t, l2_tlb_entries, 1024, kEntries, "translations in the shared TLB") \
  X(std::uint32_t, l2_tlb_ways, 16, kEntries, "its associativity; divides the entries") \
  X(std::uint32_t, walk_cache_entries, 128, kEntries, "page-directory entries kept") \
  X(std::uint32_t, walkers, 16, between(1, 65536), "page walks at the same time") \
  X(std::uint32_t, walk_levels_4k, 6, between(1, 8), "reads of a walk to a 4 KB or 64 KB entry") \
  X(std::uint32_t, walk_levels_2m, 5, between(1, 8), "reads of a walk to a 2 MB entry") \
  X(std::uint64_t, l2_tlb_hit_ns, 60, kTlbCost, "hit in the shared TLB") \
  X(std::uint64_t, walk_level_ns, 120, kTlbCost, "one read of a walk") \
  X(std::uint32_t, fault_buffer_entries, 6144, kEntries, "raw faults that the buffer holds") \
  /* How SMs raise faults: sim/gpu/README.md */ \
  X(std::uint32_t, gpcs, 8, between(1, 64), "groups of SMs whose raw faults the GPU takes in turn") \
  X(std::uint64_t, fault_ps, 20400, between(0, 1000000), "from one raw fault to the next, in picoseconds") \
  X(std::uint32_t, store_packets_per_sm, 13, between(1, 65535), \
    "contiguous stores, 128 bytes each, that an SM may have out to missing pages") \
  X(std::uint32_t, store_lanes_per_sm, 52, between(1, 65535), "the same of single threads of scattered stores") \
  X(std::uint32_t, load_requests_per_sm, 56, between(1, 65535), "the same of loads, 256 bytes or one thread each") \
  X(std::uint32_t, fault_regions_per_sm, 14, between(1, 65535), "regions of 32 KB in which these lie") \
  X(bool, warps_share_faults, false, kSwitch, "an SM's requests to one page raise one fault, not each its own") \
  X(std::uint32_t, known_ns, 13, between(0, 1000000), \
    "from an SM's first missing request until it knows and stops, where the page table's line is at hand") \
  X(std::uint32_t, known_busy_ns, 28, between(0, 1000000), "the same while many warps wait for its load/store unit") \
  X(std::uint32_t, known_half_ns, 33, between(0, 1000000), "the same where only the other half of the line is at hand") \
  X(std::uint32_t, known_far_ns, 450, between(0, 1000000), "the same where none is") \
  X(std::uint32_t, resume_spread_ns, 64, between(0, 1000000), "a replay reaches all SMs within this")

// One direction of a link, as measured: a transfer of n bytes takes latency + n / bandwidth.
#define UVMSIM_LINK_DIRECTION_PARAMETERS(X) \
  X(std::uint64_t, latency_ns, 0, kCost, "fixed part of the first run of a push") \
  X(std::uint64_t, run_ns, 0, kCost, "fixed part of every later contiguous run") \
  X(std::uint64_t, bytes_per_us, 0, kBandwidth, "bandwidth of large transfers")

#define UVMSIM_LINK_PARAMETERS(X) \
  X(std::string, kind, {}, words(kLinkKinds), "physical link") \
  X(std::uint64_t, both_ways_bytes_per_us, 0, kOptionalBandwidth, "both directions together; 0 = their sum") \
  X(std::uint64_t, zero_copy_read_bytes_per_us, 0, kBandwidth, "SMs reading host memory in place") \
  X(std::uint64_t, zero_copy_write_bytes_per_us, 0, kBandwidth, "SMs writing host memory in place")

// A PCIe switch: its GPUs share one link to the host.
#define UVMSIM_UPLINK_PARAMETERS(X) \
  X(std::uint32_t, first_gpu, 0, kGpuNumber, "the first of the GPUs behind the switch") \
  X(std::uint32_t, gpu_count, 0, between(1, kMostGpus), "how many there are, by device number") \
  X(std::uint64_t, host_to_device_bytes_per_us, 0, kBandwidth, "what they share from the host") \
  X(std::uint64_t, device_to_host_bytes_per_us, 0, kBandwidth, "and to it")

// A link between two GPUs: both map each other's memory and copy from it.
#define UVMSIM_PEER_RATES_PARAMETERS(X) \
  X(std::uint64_t, latency_ns, 0, kCost, "fixed part of the first run of a push") \
  X(std::uint64_t, run_ns, 0, kCost, "fixed part of every later contiguous run") \
  X(std::uint64_t, bytes_per_us, 0, kBandwidth, "bandwidth of one direction") \
  /* cudaMemcpyPeer of n bytes takes longer by copy_ns + copy_ramp_ns * min(1, n / copy_ramp_bytes) */ \
  X(std::uint64_t, copy_ns, 0, kCost, "what an explicit copy takes beyond a push") \
  X(std::uint64_t, copy_ramp_ns, 0, kCost, "and one of copy_ramp_bytes or more; less in proportion") \
  X(std::uint64_t, copy_ramp_bytes, 0, kMemory, "see copy_ramp_ns") \
  X(std::uint64_t, remote_read_bytes_per_us, 0, kBandwidth, "SMs reading the other GPU's memory in place")

#define UVMSIM_PEER_LINK_PARAMETERS(X) \
  X(std::string, kind, {}, words(kPeerLinkKinds), "physical link") \
  X(std::uint32_t, first_gpu, 0, kGpuNumber, "one end") \
  X(std::uint32_t, second_gpu, 0, kGpuNumber, "the other") \
  X(std::uint64_t, both_ways_bytes_per_us, 0, kOptionalBandwidth, "both directions together; 0 = their sum")

// A switch that joins GPUs: the rates at which one GPU can send to and receive from all others.
#define UVMSIM_PEER_SWITCH_PARAMETERS(X) \
  X(std::uint32_t, first_gpu, 0, kGpuNumber, "the first of the GPUs that it joins") \
  X(std::uint32_t, gpu_count, 0, between(2, kMostGpus), "how many there are, by device number")

#define UVMSIM_HOST_PARAMETERS(X) \
  X(std::uint64_t, memory_bytes, 0, kMemory, "capacity of the host tier; 0 = unlimited") \
  X(std::uint64_t, memory_bytes_per_us, 0, kOptionalBandwidth, "host bandwidth that all links share; 0 = unlimited") \
  X(std::uint64_t, pageable_copy_bytes_per_us, 0, kBandwidth, "explicit copies from pageable memory") \
  X(bool, large_pages, true, kSwitch, "2 MB host chunks behind full blocks (driver 530 and later)") \
  X(std::uint64_t, reclaim_bytes, 2u << 20, kPage, \
    "what leaves a full host at once, the one used longest ago first; 4 KiB, 64 KiB or 2 MiB") \
  X(std::uint32_t, watermark_scale_factor, 10, between(0, 3000), \
    "when less than this part of a limited host is free, in 1/10000, it is emptied ahead of need until twice that is") \
  X(std::uint64_t, step_ps, 0, kTlbCost, \
    "speed of one thread: picoseconds of a step of a chain of multiply, shift and exclusive or; 0 = not known") \
  /* Where both are known, what the driver's thread does takes step_ps / costs_step_ps of its cost */ \
  X(std::uint64_t, costs_step_ps, 0, kTlbCost, "step_ps of the host on which the driver's costs were measured")

// Optional tier below the host (sim/driver/host_tier.h).
#define UVMSIM_SSD_PARAMETERS(X) \
  X(std::uint64_t, memory_bytes, 0, kMemory, "capacity of the tier below the host; 0 = none") \
  X(std::uint64_t, read_bytes_per_us, 0, kOptionalBandwidth, "read bandwidth") \
  X(std::uint64_t, write_bytes_per_us, 0, kOptionalBandwidth, "write bandwidth") \
  X(std::uint64_t, read_latency_ns, 0, kCost, "fixed part of a read") \
  X(std::uint64_t, write_latency_ns, 0, kCost, "fixed part of a write") \
  X(std::uint32_t, queue_depth, 32, between(1, 65536), "reads, and writes, in flight at the same time")

// Module parameters of the driver, named as there without the prefix uvm_perf_. Parameters of its prefetcher belong to
// the policy `tree`.
#define UVMSIM_DRIVER_PARAMETERS(X) \
  X(std::uint32_t, version_major, 580, between(1, 9999), "first number of the driver's version") \
  X(std::uint32_t, version_minor, 0, between(0, 9999), "second number; it matters for access counters on coherent links") \
  X(std::uint32_t, version_patch, 0, between(0, 9999), "third number; likewise") \
  X(std::uint32_t, fault_batch_count, 256, kEntries, "raw faults that one batch takes at most") \
  X(ReplayPolicy, fault_replay_policy, ReplayPolicy::kBatchFlush, words(kReplayPolicies), \
    "when stalled accesses retry: after every batch, without or with a flush of the fault buffer") \
  X(std::uint32_t, fault_replay_update_put_ratio, 50, kPercent, "duplicates above which a flush rereads PUT") \
  X(std::uint32_t, fault_max_batches_per_service, 20, between(1, kMillion), \
    "batches per wake-up of the service thread") \
  X(std::uint32_t, fault_max_throttle_per_service, 5, between(1, kMillion), \
    "batches with throttled faults per wake-up") \
  X(bool, fault_coalesce, true, kSwitch, "merge neighbouring duplicates while fetching") \
  X(bool, thrashing_enable, true, kSwitch, "thrashing control") \
  X(std::uint32_t, thrashing_threshold, 3, between(1, 7), "events that make a page thrashing") \
  X(std::uint32_t, thrashing_pin_threshold, 10, between(1, 255), "throttles before a page is pinned") \
  X(std::uint64_t, thrashing_lapse_ns, 500000, kCost, "longest gap between events that count") \
  X(std::uint64_t, thrashing_nap_ns, 500000, kCost, "length of a throttle") \
  X(std::uint64_t, thrashing_epoch_ns, 1000000000, kCost, "quiet time that resets a block") \
  X(std::uint64_t, thrashing_pin_ns, 150000000, kCost, "time that a page stays pinned; 0 = for ever") \
  X(std::uint32_t, thrashing_max_resets, 4, between(0, kMillion), "resets of a block") \
  X(bool, thrashing_adaptive_lapse, false, kSwitch, \
    "the lapse grows with what is found thrashing (driver 590 and later)") \
  X(bool, access_counter_migration, false, kSwitch, "migrate by access counters") \
  X(std::uint32_t, access_counter_threshold, 256, between(1, 65535), "accesses per notification") \
  X(std::uint32_t, access_counter_batch_count, 256, kEntries, "notifications per batch") \
  /* What other drivers do otherwise (configs/drivers) */ \
  X(std::uint64_t, page_bytes, 4096, kPage, \
    "the least that a fault brings, aligned: 4 KiB, 64 KiB or 2 MiB") \
  X(std::uint32_t, reclaim_batch, 1, between(1, 65536), "root chunks evicted when none is free") \
  X(bool, reclaim_waits, false, kSwitch, "the driver's thread waits until their copies are done") \
  X(bool, replicate, false, kSwitch, \
    "all memory is read-mostly from its allocation on: reads copy pages, writes move them")

// The costs of the driver's steps. `configs/README.md` says how each was fitted.
#define UVMSIM_DRIVER_COST_PARAMETERS(X) \
  X(std::uint64_t, wakeup_ns, 8000, kCost, "a fault's arrival until the sleeping service thread reads PUT") \
  X(std::uint64_t, late_interrupt_ns, 180000, kCost, "more, when a service period ended with faults waiting") \
  X(std::uint64_t, first_fault_ns, 265000, kCost, "the same for the first fault of all, and the most") \
  /* A thread that slept longer wakes later, up to first_fault_ns */ \
  X(std::uint64_t, sleep_after_ns, 50000, kCost, "sleep of the service thread after which it wakes later") \
  X(std::uint64_t, sleep_doubling_ns, 21000, kCost, "by this per doubling of its sleep") \
  X(std::uint64_t, poll_read_ns, 2000, kCost, "after a replay until the service thread reads PUT again") \
  X(std::uint64_t, batch_ns, 2300, kCost, "fetch and preprocess a batch") \
  X(std::uint64_t, raw_fault_ns, 64, kCost, "per raw entry fetched") \
  X(std::uint64_t, fault_entry_ns, 400, kCost, "per page among them: looked up, its destination chosen") \
  X(std::uint64_t, stale_block_ns, 480, kCost, "per VA block in the batch, all of it served before") \
  X(std::uint64_t, block_ns, 1600, kCost, "per VA block with faults to serve") \
  X(std::uint64_t, new_chunk_ns, 6000, kCost, "first population of a block on the GPU: chunk and page tables") \
  X(std::uint64_t, unmap_host_run_ns, 3000, kCost, "per contiguous run of pages taken from the host") \
  X(std::uint64_t, unmap_host_page_ns, 120, kCost, "and per page in it, or taken from another GPU") \
  X(std::uint64_t, unmap_peer_ns, 5000, kCost, "per block with pages taken from another GPU") \
  X(std::uint64_t, push_ns, 2500, kCost, "a push of copies") \
  X(std::uint64_t, push_run_ns, 150, kCost, "per run of a push") \
  X(std::uint64_t, push_to_engine_ns, 1300, kCost, "push until the copy engine starts") \
  X(std::uint64_t, push_gap_ns, 1250, kCost, "between two pushes on one copy engine") \
  X(std::uint64_t, after_copies_ns, 8100, kCost, \
    "a batch in which something was copied: from the last copy, or the end of the thread's work, to its replay's turn") \
  X(std::uint64_t, after_push_ns, 1400, kCost, "CPU work of a block after its copies are pushed") \
  X(std::uint64_t, map_block_ns, 3500, kCost, "page-table entries, per block") \
  X(std::uint64_t, map_page_ns, 5, kCost, "and per 4 KB page made resident") \
  X(std::uint64_t, populate_page_ns, 100, kCost, "per 4 KB page that was resident nowhere") \
  X(std::uint64_t, copies_done_ns, 2500, kCost, "last copy until the GPU is ready for the replay") \
  X(std::uint64_t, dma_map_chunk_ns, 0, kCost, "first DMA mapping of a block's host chunk") \
  X(std::uint64_t, replay_ns, 2000, kCost, "end of the batch's work until the replay is issued") \
  X(std::uint64_t, replay_lead_ns, 0, kCost, \
    "replay on the GPU until the thread goes on, for batches that neither copy nor populate") \
  X(std::uint64_t, protect_block_ns, 0, kCost, \
    "per block whose mappings on one processor stay and get other rights (read duplication)") \
  X(std::uint64_t, remote_map_ns, 2000, kCost, "per block mapped remotely") \
  X(std::uint64_t, evict_chunk_ns, 5100, kCost, "driver work of one eviction, without its copy") \
  X(std::uint64_t, evict_page_ns, 50, kCost, "and per page that it copies to the host") \
  X(std::uint64_t, unmap_gpu_ns, 5000, kCost, \
    "on the GPU: page-table entries of an evicted block go, TLBs forget them") \
  X(std::uint64_t, host_allocate_chunk_ns, 120000, kCost, "allocate a 2 MB host chunk") \
  X(std::uint64_t, host_zero_page_ns, 0, kCost, "zero a host page that was resident nowhere") \
  X(std::uint64_t, cpu_fault_ns, 20500, kCost, "one CPU fault, without its copy") \
  X(std::uint64_t, cpu_fault_page_ns, 195, kCost, "per page made resident on the host") \
  X(std::uint64_t, cpu_remap_ns, 20500, kCost, "one CPU fault that copies and populates nothing") \
  /* cudaMemPrefetchAsync, all that its caller's thread does; on an idle stream that is inside the call */ \
  X(std::uint64_t, prefetch_call_ns, 3000, kCost, "a call of cudaMemPrefetchAsync, beside launch_ns") \
  X(std::uint64_t, prefetch_move_ns, 10000, kCost, "one that moves or populates something") \
  X(std::uint64_t, prefetch_block_ns, 1900, kCost, "per block of its range") \
  X(std::uint64_t, prefetch_copy_block_ns, 6200, kCost, "per block of which pages are copied to a GPU") \
  X(std::uint64_t, prefetch_copy_page_ns, 47, kCost, "and per page copied") \
  X(std::uint64_t, prefetch_populate_block_ns, 7400, kCost, "per block of which pages are populated on a GPU") \
  X(std::uint64_t, prefetch_host_block_ns, 15000, kCost, "per block of which pages come to the host") \
  X(std::uint64_t, prefetch_host_page_ns, 240, kCost, "and per page that comes") \
  X(std::uint64_t, prefetch_deferred_call_ns, 12000, kCost, \
    "a call behind other work of its stream, beside launch_ns: the driver does it later") \
  X(std::uint64_t, prefetch_deferred_ns, 100000, kCost, "end of that work until the driver begins") \
  /* cudaMemAdvise */ \
  X(std::uint64_t, advise_host_block_ns, 22000, kCost, \
    "a preferred location set or unset, per block with pages that the CPU maps") \
  X(std::uint64_t, advise_protect_page_ns, 225, kCost, \
    "read-mostly: per page that the CPU may write no more") \
  X(std::uint64_t, advise_map_block_ns, 50000, kCost, "accessed-by, per block with pages") \
  X(std::uint64_t, plan_block_ns, 6000, kCost, "a planner's migration thread, per block that it moves")

// The costs of the GPU and of the host program outside the driver.
#define UVMSIM_RUNTIME_COST_PARAMETERS(X) \
  X(std::uint64_t, launch_ns, 4000, kCost, "host time of a kernel launch") \
  X(std::uint64_t, managed_call_ns, 9000, kCost, \
    "host time of cudaMemset and cudaMemcpy on managed memory, beside launch_ns") \
  X(std::uint64_t, kernel_start_ns, 2000, kCost, "launch until the first instruction") \
  X(std::uint64_t, synchronize_ns, 4000, kCost, "return of a synchronising call") \
  X(std::uint64_t, touch_ns, 600, kCost, "a lone thread's dependent touch of a fresh page") \
  X(std::uint64_t, allocate_ns, 6800, kCost, "cudaMallocManaged") \
  X(std::uint64_t, allocate_ns_per_gib, 8500, kCost, "its part that grows with the size") \
  X(std::uint64_t, free_ns, 6300, kCost, "cudaFree of managed memory that was never touched") \
  X(std::uint64_t, free_touched_ns, 22500, kCost, "cudaFree of managed memory that was populated") \
  X(std::uint64_t, free_ns_per_mib, 6800, kCost, "its part that grows with what was populated, beyond 2 MiB") \
  X(std::uint64_t, free_host_ns, 30000, kCost, "cudaFree of managed memory of which the host has pages, beside the rest") \
  X(std::uint64_t, free_host_block_ns, 4500, kCost, "its part that grows with the blocks of 2 MiB, beyond the first") \
  X(std::uint64_t, free_untouched_ns_per_gib, 4700, kCost, "part of free_ns that grows with the size") \
  X(std::uint64_t, device_allocate_ns, 30000, kCost, "cudaMalloc") \
  X(std::uint64_t, device_allocate_ns_per_gib, 100000, kCost, "its part that grows with the size") \
  X(std::uint64_t, device_free_ns, 24300, kCost, "cudaFree of memory from cudaMalloc") \
  X(std::uint64_t, device_free_ns_per_gib, 240000, kCost, "its part that grows with the size") \
  /* Accesses of SMs to host memory in place (sim/link/remote_lane.h) */ \
  X(std::uint64_t, remote_runs_per_us, 0, kOptionalBandwidth, \
    "contiguous pieces of host memory that SMs access in place, however short; 0 = no limit") \
  X(std::uint64_t, remote_requests_per_us, 0, kOptionalBandwidth, \
    "requests of SMs for less than a line of host memory, in order of their addresses; 0 = no limit") \
  X(std::uint64_t, remote_words_per_us, 0, kOptionalBandwidth, \
    "stores of SMs of a part of a sector of host memory, and atomics; 0 = no limit") \
  X(std::uint64_t, remote_latency_ns, 0, kCost, "a dependent access of an SM to host memory in place") \
  X(std::uint64_t, remote_both_ways_bytes_per_us, 0, kOptionalBandwidth, \
    "SMs reading and writing host memory in place, together; 0 = no limit") \
  X(bool, device_memory_beside, false, kSwitch, \
    "the capacity is what is left for managed memory; false: what is free when the context exists, of which the " \
    "program's device memory (cudaMalloc, code of kernels, libraries' handles) then takes its part") \
  X(std::uint64_t, touch_write_ns, 420, kCost, "its store to one") \
  X(std::uint64_t, load_ns, 450, kCost, "from a load to its data in the GPU's memory") \
  X(std::uint64_t, first_load_ns, 640, kCost, "the same of a thread block's first") \
  X(std::uint64_t, migrated_load_ns, 250, kCost, "the same of data that have just come") \
  X(std::uint64_t, store_ns, 25, kCost, "its stores") \
  X(std::uint64_t, load_after_store_ns, 1410, kCost, "before a load that follows a store") \
  X(std::uint64_t, block_start_ns, 300, kCost, \
    "a finished thread block's place gets the next number after this, whose first access comes within once more") \
  X(std::uint64_t, block_launch_ns, 4, kCost, "an SM begins with its first thread blocks one by one: per warp") \
  X(std::uint64_t, block_spread_ns, 60, kCost, "by how much SMs, and blocks, differ in that") \
  X(std::uint64_t, context_bytes, 0, kMemory, \
    "of a GPU that several processes share: memory that the context of every further one takes") \
  X(std::uint64_t, time_slice_ns, 2091000, kSlice, \
    "of a GPU that several processes share: how long one computes while another one waits") \
  X(std::uint64_t, context_switch_ns, 152000, kCost, \
    "of a GPU that several processes share: between two of them it computes for neither")

/* Memory that malloc gave, and links over which GPU and host reach each other's memory without a fault
   (sim/driver/system_memory.h, coherent_counters.h; sim/engine/coherent_pass.h). Read only where address_mode is not none */
#define UVMSIM_COHERENCE_PARAMETERS(X) \
  X(std::string, address_mode, "none", words(kAddressModes), \
    "how GPUs reach memory of malloc: none: not at all; hmm: it migrates on faults; ats: by the host's page tables; " \
    "cdmm: so, but the GPU's memory is no node of the host") \
  X(std::uint64_t, host_page_bytes, 4096, kPage, "pages of the host: 4 KiB or 64 KiB") \
  X(std::uint64_t, local_latency_ns, 0, kCost, "a dependent access of an SM to the GPU's own memory") \
  X(std::uint64_t, store_latency_ns, 0, kCost, "what a warp waits for a store to host memory in place") \
  X(std::uint64_t, first_touch_ns, 0, kCost, "a fault batch that populates system memory on the GPU") \
  X(std::uint64_t, first_touch_page_ns, 0, kCost, "and per page of the host") \
  X(std::uint64_t, host_touch_ns, 0, kCost, "one that populates system memory on the host") \
  X(std::uint64_t, host_touch_page_ns, 0, kCost, "and per page of the host") \
  X(std::uint32_t, access_counters, 256, kEntries, "regions of 2 MB that the GPU counts accesses of at the same time") \
  X(std::uint64_t, counted_read_bytes, 32, kCounted, "of reads in place: what counts as one access") \
  X(std::uint64_t, counted_write_bytes, 32, kCounted, "of writes in place: likewise") \
  X(std::uint64_t, notification_delay_ns, 0, kCost, "from a notification until the driver may serve it") \
  X(std::uint64_t, notification_ns, 0, kCost, "a notification that moves system memory, on the driver's thread") \
  X(std::uint64_t, moved_page_ns, 0, kCost, "and per page of the host that it moves") \
  X(std::uint64_t, moved_used_page_ns, 0, kCost, "per page that the CPU wrote, instead") \
  X(std::uint64_t, cpu_first_touch_page_ns, 0, kCost, "the CPU's first write to a page of the host") \
  X(std::uint64_t, cpu_read_gpu_page_ns, 0, kCost, "what the CPU takes longer to read 4 KB of GPU memory") \
  X(std::uint64_t, cpu_write_gpu_page_ns, 0, kCost, "and to write them") \
  X(std::uint64_t, hmm_page_ns, 0, kCost, "hmm: per 4 KB page of system memory that migrates, beyond a managed one")

/* Somebody listens to the driver's events: Nsight Systems, CUPTI, or a reader of the driver's own queue. The driver then
   stamps the time of each copy on the copy engine and writes a record of each copy, raw fault and replay. */
#define UVMSIM_LISTENER_PARAMETERS(X) \
  X(bool, present, false, kSwitch, "somebody listens: the following is added") \
  X(std::uint64_t, copy_ns, 0, kCost, "per contiguous run that is copied over the host's link, on the copy engine") \
  X(std::uint64_t, raw_fault_ns, 0, kCost, "per raw fault fetched, on the driver's thread") \
  X(std::uint64_t, batch_ns, 0, kCost, "per fault batch, on the driver's thread")
// clang-format on

#define UVMSIM_MEMBER(type, name, standard, allowed, meaning) type name = standard;
struct GpuConfig {
  UVMSIM_GPU_PARAMETERS(UVMSIM_MEMBER)
};
struct GmmuConfig {
  UVMSIM_GMMU_PARAMETERS(UVMSIM_MEMBER)
};
struct LinkDirectionConfig {
  UVMSIM_LINK_DIRECTION_PARAMETERS(UVMSIM_MEMBER)
};
struct LinkConfig {
  UVMSIM_LINK_PARAMETERS(UVMSIM_MEMBER)
  LinkDirectionConfig host_to_device, device_to_host;
};
struct UplinkConfig {
  UVMSIM_UPLINK_PARAMETERS(UVMSIM_MEMBER)
};
struct PeerRates {
  UVMSIM_PEER_RATES_PARAMETERS(UVMSIM_MEMBER)
};
struct PeerLinkConfig {
  UVMSIM_PEER_LINK_PARAMETERS(UVMSIM_MEMBER)
  PeerRates each_way;
};
struct PeerSwitchConfig {
  UVMSIM_PEER_SWITCH_PARAMETERS(UVMSIM_MEMBER)
  PeerRates port;
};
struct HostConfig {
  UVMSIM_HOST_PARAMETERS(UVMSIM_MEMBER)
};
struct SsdConfig {
  UVMSIM_SSD_PARAMETERS(UVMSIM_MEMBER)
};
struct DriverConfig {
  UVMSIM_DRIVER_PARAMETERS(UVMSIM_MEMBER)
};
struct DriverCosts {
  UVMSIM_DRIVER_COST_PARAMETERS(UVMSIM_MEMBER)
};
struct RuntimeCosts {
  UVMSIM_RUNTIME_COST_PARAMETERS(UVMSIM_MEMBER)
};
struct CoherenceConfig {
  UVMSIM_COHERENCE_PARAMETERS(UVMSIM_MEMBER)
};
struct ListenerCosts {
  UVMSIM_LISTENER_PARAMETERS(UVMSIM_MEMBER)
  std::uint64_t of(std::uint64_t ns) const { return present ? ns : 0; }
};
#undef UVMSIM_MEMBER

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
  ListenerCosts listener;
  CoherenceConfig coherence;
  // The source of each parameter, by its dotted key ("costs.batch_ns", "gpus.0.sm_count"). Filled by the loader.
  std::map<std::string, std::string> sources;
};

// Returns the system with driver costs for the speed of its own host: costs of the driver's thread are multiplied by
// host.step_ps / host.costs_step_ps, if both are known. Costs of the GPU, the link and the host's scheduler stay.
SystemConfig at_host_speed(SystemConfig system);

}  // namespace uvmsim::config
