// SPDX-License-Identifier: Apache-2.0
// Every parameter of a system, one line each: name, member, allowed range, meaning. The unit follows from the suffix of
// the name (quantity.h). For schema.cpp and its test.
//
// To add one: its member in system.h, its line here, then `uvmsim systems --schema > configs/system.schema.json`. A
// member without its line keeps its default and fails tests/config (EveryMemberHasItsLine).
#pragma once

#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "sim/common/units.h"
#include "sim/config/quantity.h"
#include "sim/config/system.h"

namespace uvmsim::config {

// Both ends are allowed. A default outside its range means that a system has to state the parameter.
struct Range {
  std::uint64_t minimum;
  std::uint64_t maximum;
};

template <class Struct>
struct Field {
  using Member = std::variant<std::uint32_t Struct::*, std::uint64_t Struct::*, bool Struct::*, std::string Struct::*,
                              ReplayPolicy Struct::*>;
  std::string_view name;
  Member member;
  Range range;
  std::string_view doc;
  std::span<const std::string_view> choices = {};  // the allowed words of a text
  Unit unit = unit_by_suffix(name);
};

// Upper ends are far beyond any hardware; they keep the model's 64-bit arithmetic from overflowing.
inline constexpr std::uint64_t kMillion = 1000000;
inline constexpr std::uint64_t kPebibyte = std::uint64_t{1} << 50;
inline constexpr Range kText{0, 0};
inline constexpr Range kSwitch{0, 1};
inline constexpr Range kCost{0, 10000 * kMillion};      // 10 s
inline constexpr Range kTlbCost{0, kMillion};           // 1 ms
inline constexpr Range kSlice{1000, 10000 * kMillion};  // 1 us to 10 s
inline constexpr Range kMemory{0, kPebibyte};
inline constexpr Range kGpuMemory{2u << 20, kPebibyte};  // at least one 2 MB chunk
inline constexpr Range kBandwidth{1, 100 * kMillion};    // 100 TB/s
inline constexpr Range kOptionalBandwidth{0, 100 * kMillion};
inline constexpr Range kEntries{1, 1u << 20};
inline constexpr Range kPercent{0, 100};

inline constexpr std::uint64_t kMostGpus = 16;

inline constexpr std::string_view kLinkKinds[] = {"pcie", "nvlink", "c2c"};
inline constexpr std::string_view kPeerLinkKinds[] = {"pcie", "nvlink"};
// In the order of ReplayPolicy.
inline constexpr std::string_view kReplayPolicies[] = {"batch", "batch_flush"};

inline constexpr Field<GpuConfig> kGpu[] = {
    {"model", &GpuConfig::model, kText, "name of the product, as cudaGetDeviceProperties gives it"},
    {"memory_bytes", &GpuConfig::memory_bytes, kGpuMemory, "device memory, as the driver reports it"},
    {"reserved_bytes", &GpuConfig::reserved_bytes, kMemory, "the part that managed memory never gets"},
    {"sm_count", &GpuConfig::sm_count, {1, 4096}, "streaming multiprocessors"},
    {"max_threads_per_sm", &GpuConfig::max_threads_per_sm, {32, 65536}, "resident threads per SM"},
    {"max_blocks_per_sm", &GpuConfig::max_blocks_per_sm, {1, 1024}, "resident thread blocks per SM"},
    {"registers_per_sm", &GpuConfig::registers_per_sm, {1024, 1u << 24}, "32-bit registers per SM"},
    {"shared_bytes_per_sm", &GpuConfig::shared_bytes_per_sm, {1024, 1u << 30}, "shared memory per SM"},
    {"sm_clock_khz", &GpuConfig::sm_clock_khz, {1000, 100 * kMillion}, "highest clock of the SMs"},
    {"memory_bytes_per_us", &GpuConfig::memory_bytes_per_us, kBandwidth, "device memory bandwidth"},
    {"fp32_flops_per_us", &GpuConfig::fp32_flops_per_us, {1, kMillion* kMillion}, "peak single precision"},
    {"tf32_flops_per_us",
     &GpuConfig::tf32_flops_per_us,
     {0, kMillion* kMillion},
     "peak of the tensor cores in TF32, dense; 0 is none"},
    {"half_flops_per_us",
     &GpuConfig::half_flops_per_us,
     {0, kMillion* kMillion},
     "peak of the tensor cores in fp16 and bf16 with sums in fp32, dense; 0 is none"},
};

inline constexpr Field<GmmuConfig> kGmmu[] = {
    {"l1_tlb_entries", &GmmuConfig::l1_tlb_entries, kEntries, "translations in the TLB of one SM"},
    {"l1_tlb_ways", &GmmuConfig::l1_tlb_ways, kEntries, "its associativity; divides the entries"},
    {"l2_tlb_entries", &GmmuConfig::l2_tlb_entries, kEntries, "translations in the shared TLB"},
    {"l2_tlb_ways", &GmmuConfig::l2_tlb_ways, kEntries, "its associativity; divides the entries"},
    {"walk_cache_entries", &GmmuConfig::walk_cache_entries, kEntries, "page-directory entries kept"},
    {"walkers", &GmmuConfig::walkers, {1, 65536}, "page walks at the same time"},
    {"walk_levels_4k", &GmmuConfig::walk_levels_4k, {1, 8}, "reads of a walk to a 4 KB or 64 KB entry"},
    {"walk_levels_2m", &GmmuConfig::walk_levels_2m, {1, 8}, "reads of a walk to a 2 MB entry"},
    {"l2_tlb_hit_ns", &GmmuConfig::l2_tlb_hit_ns, kTlbCost, "hit in the shared TLB"},
    {"walk_level_ns", &GmmuConfig::walk_level_ns, kTlbCost, "one read of a walk"},
    {"fault_buffer_entries", &GmmuConfig::fault_buffer_entries, kEntries, "raw faults that the buffer holds"},
    {"faults_per_sm", &GmmuConfig::faults_per_sm, {1, 65536}, "raw faults that one SM may have outstanding"},
    {"faults_per_warp_access",
     &GmmuConfig::faults_per_warp_access,
     {1, 65536},
     "raw faults of one warp's contiguous access to one page"},
    {"warps_share_faults", &GmmuConfig::warps_share_faults, kSwitch,
     "warps of a thread block that miss on the same page raise its faults once, not each its own"},
    {"fresh_pages_per_instruction",
     &GmmuConfig::fresh_pages_per_instruction,
     {1, 65536},
     "pages a scattered access may have out before its first replay"},
    {"new_warps_per_replay",
     &GmmuConfig::new_warps_per_replay,
     {1, 65536},
     "warps of an SM whose first faults one replay lets through"},
    {"issued_accesses_per_sm",
     &GmmuConfig::issued_accesses_per_sm,
     {1, 65536},
     "warp instructions that an SM has under way, served in order; of the rest those of the oldest block come next"},
    {"fault_walk_blocks", &GmmuConfig::fault_walk_blocks, {1, 16}, "VA blocks that the fault unit walked lately"},
    {"fault_block_ns", &GmmuConfig::fault_block_ns, kCost, "the GPU's fault unit: a raw fault in any other VA block"},
    {"fault_page_ns", &GmmuConfig::fault_page_ns, kCost, "a raw fault on another page of a VA block walked lately"},
    {"fault_repeat_ns", &GmmuConfig::fault_repeat_ns, kCost, "a raw fault on the SM's last page"},
    {"sm_first_spacing_ns", &GmmuConfig::sm_first_spacing_ns, kCost,
     "between faulting warps of one SM before its first replay"},
    {"sm_spacing_ns", &GmmuConfig::sm_spacing_ns, kCost, "between new faults of one SM afterwards"},
    {"sm_retry_spacing_ns", &GmmuConfig::sm_retry_spacing_ns, kCost, "between retried faults of one SM"},
    {"sm_page_spacing_ns", &GmmuConfig::sm_page_spacing_ns, kCost, "between pages of one scattered access"},
    {"replay_jitter_ns", &GmmuConfig::replay_jitter_ns, kCost, "a replay reaches each SM within this"},
    {"replay_sm_ns", &GmmuConfig::replay_sm_ns, kCost, "and one SM after another"},
};

inline constexpr Field<LinkDirectionConfig> kLinkDirection[] = {
    {"latency_ns", &LinkDirectionConfig::latency_ns, kCost, "fixed part of the first run of a push"},
    {"run_ns", &LinkDirectionConfig::run_ns, kCost, "fixed part of every later contiguous run"},
    {"bytes_per_us", &LinkDirectionConfig::bytes_per_us, kBandwidth, "bandwidth of large transfers"},
};

inline constexpr Field<LinkConfig> kLink[] = {
    {"kind", &LinkConfig::kind, kText, "physical link", kLinkKinds},
    {"both_ways_bytes_per_us", &LinkConfig::both_ways_bytes_per_us, kOptionalBandwidth,
     "both directions together; 0 = their sum"},
    {"zero_copy_read_bytes_per_us", &LinkConfig::zero_copy_read_bytes_per_us, kBandwidth,
     "SMs reading host memory in place"},
    {"zero_copy_write_bytes_per_us", &LinkConfig::zero_copy_write_bytes_per_us, kBandwidth,
     "SMs writing host memory in place"},
};

inline constexpr Field<UplinkConfig> kUplink[] = {
    {"first_gpu", &UplinkConfig::first_gpu, {0, kMostGpus - 1}, "the first of the GPUs behind the switch"},
    {"gpu_count", &UplinkConfig::gpu_count, {1, kMostGpus}, "how many there are, by device number"},
    {"host_to_device_bytes_per_us", &UplinkConfig::host_to_device_bytes_per_us, kBandwidth,
     "what they share from the host"},
    {"device_to_host_bytes_per_us", &UplinkConfig::device_to_host_bytes_per_us, kBandwidth, "and to it"},
};

inline constexpr Field<PeerLinkConfig> kPeerLink[] = {
    {"kind", &PeerLinkConfig::kind, kText, "physical link", kPeerLinkKinds},
    {"first_gpu", &PeerLinkConfig::first_gpu, {0, kMostGpus - 1}, "one end"},
    {"second_gpu", &PeerLinkConfig::second_gpu, {0, kMostGpus - 1}, "the other"},
    {"both_ways_bytes_per_us", &PeerLinkConfig::both_ways_bytes_per_us, kOptionalBandwidth,
     "both directions together; 0 = their sum"},
};

inline constexpr Field<PeerSwitchConfig> kPeerSwitch[] = {
    {"first_gpu", &PeerSwitchConfig::first_gpu, {0, kMostGpus - 1}, "the first of the GPUs that it joins"},
    {"gpu_count", &PeerSwitchConfig::gpu_count, {2, kMostGpus}, "how many there are, by device number"},
};

inline constexpr Field<PeerRates> kPeerRates[] = {
    {"latency_ns", &PeerRates::latency_ns, kCost, "fixed part of the first run of a push"},
    {"run_ns", &PeerRates::run_ns, kCost, "fixed part of every later contiguous run"},
    {"bytes_per_us", &PeerRates::bytes_per_us, kBandwidth, "bandwidth of one direction"},
    {"copy_ns", &PeerRates::copy_ns, kCost, "what an explicit copy takes beyond a push"},
    {"copy_ramp_ns", &PeerRates::copy_ramp_ns, kCost, "and one of copy_ramp_bytes or more; less in proportion"},
    {"copy_ramp_bytes", &PeerRates::copy_ramp_bytes, kMemory, "see copy_ramp_ns"},
    {"remote_read_bytes_per_us", &PeerRates::remote_read_bytes_per_us, kBandwidth,
     "SMs reading the other GPU's memory in place"},
};

inline constexpr Field<HostConfig> kHost[] = {
    {"memory_bytes", &HostConfig::memory_bytes, kMemory, "capacity of the host tier; 0 = unlimited"},
    {"memory_bytes_per_us", &HostConfig::memory_bytes_per_us, kOptionalBandwidth,
     "host bandwidth that all links share; 0 = unlimited"},
    {"pageable_copy_bytes_per_us", &HostConfig::pageable_copy_bytes_per_us, kBandwidth,
     "explicit copies from pageable memory"},
    {"large_pages", &HostConfig::large_pages, kSwitch, "2 MB host chunks behind full blocks (driver 530 and later)"},
    {"reclaim_bytes",
     &HostConfig::reclaim_bytes,
     {kBasePageBytes, kBlockBytes},
     "what leaves a full host at once, the one used longest ago first; 4 KiB, 64 KiB or 2 MiB"},
    {"watermark_scale_factor",
     &HostConfig::watermark_scale_factor,
     {0, 3000},
     "when less than this part of a limited host is free, in 1/10000, it is emptied ahead of need until twice that is"},
};

inline constexpr Field<SsdConfig> kSsd[] = {
    {"memory_bytes", &SsdConfig::memory_bytes, kMemory, "capacity of the tier below the host; 0 = none"},
    {"read_bytes_per_us", &SsdConfig::read_bytes_per_us, kOptionalBandwidth, "read bandwidth"},
    {"write_bytes_per_us", &SsdConfig::write_bytes_per_us, kOptionalBandwidth, "write bandwidth"},
    {"read_latency_ns", &SsdConfig::read_latency_ns, kCost, "fixed part of a read"},
    {"write_latency_ns", &SsdConfig::write_latency_ns, kCost, "fixed part of a write"},
    {"queue_depth", &SsdConfig::queue_depth, {1, 65536}, "reads, and writes, in flight at the same time"},
};

inline constexpr Field<DriverConfig> kDriver[] = {
    {"version_major", &DriverConfig::version_major, {1, 9999}, "first number of the driver's version"},
    {"fault_batch_count", &DriverConfig::fault_batch_count, kEntries, "raw faults that one batch takes at most"},
    {"fault_replay_policy", &DriverConfig::fault_replay_policy, kText,
     "when stalled accesses retry: after every batch, without or with a flush of the fault buffer", kReplayPolicies},
    {"fault_replay_update_put_ratio",
     &DriverConfig::fault_replay_update_put_ratio,
     kPercent,
     "duplicates above which a flush rereads PUT",
     {},
     Unit::kPercent},
    {"fault_max_batches_per_service",
     &DriverConfig::fault_max_batches_per_service,
     {1, kMillion},
     "batches per wake-up of the service thread"},
    {"fault_max_throttle_per_service",
     &DriverConfig::fault_max_throttle_per_service,
     {1, kMillion},
     "batches with throttled faults per wake-up"},
    {"fault_coalesce", &DriverConfig::fault_coalesce, kSwitch, "merge neighbouring duplicates while fetching"},
    {"thrashing_enable", &DriverConfig::thrashing_enable, kSwitch, "thrashing control"},
    {"thrashing_threshold", &DriverConfig::thrashing_threshold, {1, 7}, "events that make a page thrashing"},
    {"thrashing_pin_threshold", &DriverConfig::thrashing_pin_threshold, {1, 255}, "throttles before a page is pinned"},
    {"thrashing_lapse_ns", &DriverConfig::thrashing_lapse_ns, kCost, "longest gap between events that count"},
    {"thrashing_nap_ns", &DriverConfig::thrashing_nap_ns, kCost, "length of a throttle"},
    {"thrashing_epoch_ns", &DriverConfig::thrashing_epoch_ns, kCost, "quiet time that resets a block"},
    {"thrashing_pin_ns", &DriverConfig::thrashing_pin_ns, kCost, "time that a page stays pinned; 0 = for ever"},
    {"thrashing_max_resets", &DriverConfig::thrashing_max_resets, {0, kMillion}, "resets of a block"},
    {"thrashing_adaptive_lapse", &DriverConfig::thrashing_adaptive_lapse, kSwitch,
     "the lapse grows with what is found thrashing (driver 590 and later)"},
    {"access_counter_migration", &DriverConfig::access_counter_migration, kSwitch, "migrate by access counters"},
    {"access_counter_threshold", &DriverConfig::access_counter_threshold, {1, 65535}, "accesses per notification"},
    {"access_counter_batch_count", &DriverConfig::access_counter_batch_count, kEntries, "notifications per batch"},
    {"page_bytes",
     &DriverConfig::page_bytes,
     {kBasePageBytes, kBlockBytes},
     "the least that a fault brings, aligned: 4 KiB, 64 KiB or 2 MiB"},
    {"reclaim_batch", &DriverConfig::reclaim_batch, {1, 65536}, "root chunks evicted when none is free"},
    {"reclaim_waits", &DriverConfig::reclaim_waits, kSwitch, "the driver's thread waits until their copies are done"},
    {"replicate", &DriverConfig::replicate, kSwitch,
     "all memory is read-mostly from its allocation on: reads copy pages, writes move them"},
};

inline constexpr Field<DriverCosts> kCosts[] = {
    {"wakeup_ns", &DriverCosts::wakeup_ns, kCost, "a fault's arrival until the sleeping service thread reads PUT"},
    {"late_interrupt_ns", &DriverCosts::late_interrupt_ns, kCost,
     "more, when a service period ended with faults waiting"},
    {"first_fault_ns", &DriverCosts::first_fault_ns, kCost, "the same for the first fault of all, and the most"},
    {"sleep_after_ns", &DriverCosts::sleep_after_ns, kCost, "sleep of the service thread after which it wakes later"},
    {"sleep_doubling_ns", &DriverCosts::sleep_doubling_ns, kCost, "by this per doubling of its sleep"},
    {"poll_read_ns", &DriverCosts::poll_read_ns, kCost, "after a replay until the service thread reads PUT again"},
    {"batch_ns", &DriverCosts::batch_ns, kCost, "fetch and preprocess a batch"},
    {"raw_fault_ns", &DriverCosts::raw_fault_ns, kCost, "per raw entry fetched"},
    {"fault_entry_ns", &DriverCosts::fault_entry_ns, kCost, "per entry left after coalescing"},
    {"stale_block_ns", &DriverCosts::stale_block_ns, kCost, "per VA block in the batch, all of it served before"},
    {"block_ns", &DriverCosts::block_ns, kCost, "per VA block with faults to serve"},
    {"new_chunk_ns", &DriverCosts::new_chunk_ns, kCost,
     "first population of a block on the GPU: chunk and page tables"},
    {"unmap_host_run_ns", &DriverCosts::unmap_host_run_ns, kCost, "per contiguous run of pages taken from the host"},
    {"unmap_host_page_ns", &DriverCosts::unmap_host_page_ns, kCost, "and per page in it, or taken from another GPU"},
    {"unmap_peer_ns", &DriverCosts::unmap_peer_ns, kCost, "per block with pages taken from another GPU"},
    {"push_ns", &DriverCosts::push_ns, kCost, "a push of copies"},
    {"push_run_ns", &DriverCosts::push_run_ns, kCost, "per run of a push"},
    {"push_to_engine_ns", &DriverCosts::push_to_engine_ns, kCost, "push until the copy engine starts"},
    {"push_gap_ns", &DriverCosts::push_gap_ns, kCost, "between two pushes on one copy engine"},
    {"after_copies_ns", &DriverCosts::after_copies_ns, kCost, "CPU work of a batch in which something was copied"},
    {"after_push_ns", &DriverCosts::after_push_ns, kCost, "CPU work of a block after its copies are pushed"},
    {"map_block_ns", &DriverCosts::map_block_ns, kCost, "page-table entries, per block"},
    {"map_page_ns", &DriverCosts::map_page_ns, kCost, "and per 4 KB page made resident"},
    {"populate_page_ns", &DriverCosts::populate_page_ns, kCost, "per 4 KB page that was resident nowhere"},
    {"copies_done_ns", &DriverCosts::copies_done_ns, kCost, "last copy until the GPU is ready for the replay"},
    {"dma_map_chunk_ns", &DriverCosts::dma_map_chunk_ns, kCost, "first DMA mapping of a block's host chunk"},
    {"replay_ns", &DriverCosts::replay_ns, kCost, "end of the batch's work until the replay is issued"},
    {"replay_lead_ns", &DriverCosts::replay_lead_ns, kCost,
     "replay on the GPU until the thread goes on, for batches that neither copy nor populate"},
    {"protect_block_ns", &DriverCosts::protect_block_ns, kCost,
     "per block whose mappings on one processor stay and get other rights (read duplication)"},
    {"remote_map_ns", &DriverCosts::remote_map_ns, kCost, "per block mapped remotely"},
    {"evict_chunk_ns", &DriverCosts::evict_chunk_ns, kCost, "driver work of one eviction, without its copy"},
    {"evict_page_ns", &DriverCosts::evict_page_ns, kCost, "and per page that it copies to the host"},
    {"unmap_gpu_ns", &DriverCosts::unmap_gpu_ns, kCost,
     "on the GPU: page-table entries of an evicted block go, TLBs forget them"},
    {"host_allocate_chunk_ns", &DriverCosts::host_allocate_chunk_ns, kCost, "allocate a 2 MB host chunk"},
    {"host_zero_page_ns", &DriverCosts::host_zero_page_ns, kCost, "zero a host page that was resident nowhere"},
    {"cpu_fault_ns", &DriverCosts::cpu_fault_ns, kCost, "one CPU fault, without its copy"},
    {"cpu_fault_page_ns", &DriverCosts::cpu_fault_page_ns, kCost, "per page made resident on the host"},
    {"prefetch_call_block_ns", &DriverCosts::prefetch_call_block_ns, kCost, "cudaMemPrefetchAsync, per block"},
};

inline constexpr Field<RuntimeCosts> kRuntime[] = {
    {"launch_ns", &RuntimeCosts::launch_ns, kCost, "host time of a kernel launch"},
    {"kernel_start_ns", &RuntimeCosts::kernel_start_ns, kCost, "launch until the first instruction"},
    {"synchronize_ns", &RuntimeCosts::synchronize_ns, kCost, "return of a synchronising call"},
    {"touch_ns", &RuntimeCosts::touch_ns, kCost, "a lone thread's dependent touch of a fresh page"},
    {"allocate_ns", &RuntimeCosts::allocate_ns, kCost, "cudaMallocManaged"},
    {"allocate_ns_per_gib", &RuntimeCosts::allocate_ns_per_gib, kCost, "its part that grows with the size"},
    {"free_ns", &RuntimeCosts::free_ns, kCost, "cudaFree of managed memory that was never touched"},
    {"free_touched_ns", &RuntimeCosts::free_touched_ns, kCost, "cudaFree of managed memory that was populated"},
    {"free_ns_per_mib", &RuntimeCosts::free_ns_per_mib, kCost,
     "its part that grows with what was populated, beyond 2 MiB"},
    {"free_untouched_ns_per_gib", &RuntimeCosts::free_untouched_ns_per_gib, kCost,
     "part of free_ns that grows with the size"},
    {"device_allocate_ns", &RuntimeCosts::device_allocate_ns, kCost, "cudaMalloc"},
    {"device_allocate_ns_per_gib", &RuntimeCosts::device_allocate_ns_per_gib, kCost,
     "its part that grows with the size"},
    {"device_free_ns", &RuntimeCosts::device_free_ns, kCost, "cudaFree of memory from cudaMalloc"},
    {"device_free_ns_per_gib", &RuntimeCosts::device_free_ns_per_gib, kCost, "its part that grows with the size"},
    {"remote_runs_per_us", &RuntimeCosts::remote_runs_per_us, kOptionalBandwidth,
     "contiguous pieces of host memory that SMs access in place, however short; 0 = no limit"},
    {"remote_both_ways_bytes_per_us", &RuntimeCosts::remote_both_ways_bytes_per_us, kOptionalBandwidth,
     "SMs reading and writing host memory in place, together; 0 = no limit"},
    {"unmanaged_bytes", &RuntimeCosts::unmanaged_bytes, kMemory,
     "GPU memory that a program takes besides managed memory (modules, workspaces) out of what an oversubscription "
     "factor leaves"},
    {"touch_write_ns", &RuntimeCosts::touch_write_ns, kCost, "its store to one"},
    {"load_ns", &RuntimeCosts::load_ns, kCost, "loads of a warp, many warps running"},
    {"store_ns", &RuntimeCosts::store_ns, kCost, "its stores"},
    {"load_after_store_ns", &RuntimeCosts::load_after_store_ns, kCost, "before a load that follows a store"},
    {"block_start_ns", &RuntimeCosts::block_start_ns, kCost, "a finished thread block's place is taken by the next"},
    {"block_launch_ns", &RuntimeCosts::block_launch_ns, kCost, "between the first thread blocks of a kernel"},
    {"block_dispatch_ns", &RuntimeCosts::block_dispatch_ns, kCost,
     "between two thread blocks that an SM takes up later, so that consecutive ones go to different SMs"},
    {"context_bytes", &RuntimeCosts::context_bytes, kMemory,
     "of a GPU that several processes share: memory that the context of every further one takes"},
    {"time_slice_ns", &RuntimeCosts::time_slice_ns, kSlice,
     "of a GPU that several processes share: how long one computes while another one waits"},
    {"context_switch_ns", &RuntimeCosts::context_switch_ns, kCost,
     "of a GPU that several processes share: between two of them it computes for neither"},
};

}  // namespace uvmsim::config
