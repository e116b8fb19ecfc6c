// Counters of one run: plain integers that the model increments directly, and one table that names them for output.
// Meanings follow the driver and CUPTI (uvm_tools.c, CUpti_ActivityUnifiedMemoryCounter). Names end in their unit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace uvmsim {

struct GmmuCounters {
  std::uint64_t lookups = 0;  // one per touched page (bulk touches of one entry count every page)
  std::uint64_t l1_hits_4k = 0, l1_hits_64k = 0, l1_hits_2m = 0;
  std::uint64_t l2_hits_4k = 0, l2_hits_64k = 0, l2_hits_2m = 0;
  std::uint64_t walks_4k = 0, walks_64k = 0, walks_2m = 0;
  std::uint64_t walk_memory_reads = 0;
  std::uint64_t walk_ns = 0;   // summed over walks
  std::uint64_t stall_ns = 0;  // added to kernels beyond what their recorded duration contains
};

struct Counters {
  // Faults
  std::uint64_t raw_faults = 0;       // entries fetched, duplicates included
  std::uint64_t unmerged_faults = 0;  // entries after coalescing at fetch (the driver's GpuPageFaultCount)
  std::uint64_t faulting_pages = 0;   // distinct pages serviced, summed over batches
  std::uint64_t fault_batches = 0;    // CUPTI GPU_PAGE_FAULT records
  std::uint64_t read_fault_batches = 0, write_fault_batches = 0;  // by the access of the batch's lowest page
  std::uint64_t duplicate_faults = 0;
  std::uint64_t stale_faults = 0;  // fetched for a page that was served meanwhile
  std::uint64_t flushed_faults = 0;
  std::uint64_t overflowed_faults = 0;  // did not fit the hardware buffer
  std::uint64_t replays = 0;
  std::uint64_t wakeups = 0;          // interrupts that started the service thread
  std::uint64_t blocks_serviced = 0;  // VA blocks, summed over batches
  std::uint64_t cpu_faults = 0;
  // Migration, by direction and cause
  std::uint64_t htod_fault_bytes = 0, htod_fault_transactions = 0;
  std::uint64_t htod_prefetch_bytes = 0, htod_prefetch_transactions = 0;
  std::uint64_t htod_user_bytes = 0, htod_user_transactions = 0;
  std::uint64_t htod_counter_bytes = 0, htod_counter_transactions = 0;
  std::uint64_t dtoh_fault_bytes = 0, dtoh_fault_transactions = 0;
  std::uint64_t dtoh_prefetch_bytes = 0, dtoh_prefetch_transactions = 0;
  std::uint64_t dtoh_user_bytes = 0, dtoh_user_transactions = 0;
  std::uint64_t dtoh_evict_bytes = 0, dtoh_evict_transactions = 0;
  // Whatever the cause.
  std::uint64_t htod_bytes() const {
    return htod_fault_bytes + htod_prefetch_bytes + htod_user_bytes + htod_counter_bytes;
  }
  std::uint64_t dtoh_bytes() const {
    return dtoh_fault_bytes + dtoh_prefetch_bytes + dtoh_user_bytes + dtoh_evict_bytes;
  }
  std::uint64_t dtod_fault_bytes = 0, dtod_fault_transactions = 0;  // between GPUs
  std::uint64_t dtod_prefetch_bytes = 0, dtod_prefetch_transactions = 0;
  std::uint64_t dtod_user_bytes = 0, dtod_user_transactions = 0;
  std::uint64_t dtod_evict_bytes = 0, dtod_evict_transactions = 0;
  std::uint64_t populated_pages = 0;    // zero-filled on the GPU
  std::uint64_t reloaded_pages = 0;     // migrated to the GPU again after an eviction
  std::uint64_t chunk_allocations = 0;  // root chunks that blocks got, free ones and evicted ones
  // Eviction
  std::uint64_t evictions = 0;  // root chunks
  std::uint64_t evictions_without_copy = 0;
  std::uint64_t evictions_to_peers = 0;       // of evictions: into spare memory of another GPU
  std::uint64_t pre_evictions = 0;            // of evictions: ahead of need, by a reserve's keeper or a planner
  std::uint64_t peer_write_backs = 0;         // chunks in spare memory that were copied on to the host
  std::uint64_t spare_chunks_given_back = 0;  // chunks in spare memory that their GPU took for itself
  std::uint64_t parallel_fetches = 0;         // blocks that came to a peer first, over its link to the host
  // Blocks beyond a fault batch, by path: over the own link, from spare memory, over a peer's link into its spare
  // memory
  std::uint64_t chunk_prefetches_from_host = 0, chunk_prefetches_from_peers = 0, chunk_prefetches_to_peers = 0;
  std::uint64_t chunk_prefetches_moved_on = 0;  // of those to peers: the GPU wanted them in time
  std::uint64_t chunk_prefetches_late = 0;      // a fault waited for one on its way
  std::uint64_t chunk_prefetches_dropped = 0;   // a new batch came before they began
  std::uint64_t policy_shortfalls = 0;          // always 0: no victim where one exists ends the run
  // Remote access and thrashing
  std::uint64_t remote_maps = 0, remote_map_bytes = 0;
  std::uint64_t remote_access_bytes = 0;
  std::uint64_t thrashing_pages = 0, throttles = 0, pins = 0;
  std::uint64_t access_counter_notifications = 0;
  std::uint64_t prefetched_pages = 0, discarded_pages = 0;
  // Time
  std::uint64_t kernels = 0;
  std::uint64_t kernel_ns = 0;           // sum of kernel durations as simulated
  std::uint64_t kernel_compute_ns = 0;   // sum of kernel durations with everything resident
  std::uint64_t fault_service_ns = 0;    // driver busy with fault batches
  std::uint64_t host_allocation_ns = 0;  // host time in allocation and free calls
  std::uint64_t htod_busy_ns = 0, dtoh_busy_ns = 0, dtod_busy_ns = 0;  // copy engines
  // Below the GPUs, where host memory is limited
  std::uint64_t host_reclaimed_pages = 0, host_clean_pages = 0;  // that left it; of them without a write
  std::uint64_t host_waits = 0;                                  // arrivals that waited until memory was free
  std::uint64_t ssd_read_bytes = 0, ssd_reads = 0;
  std::uint64_t ssd_waited_reads = 0;  // the queue was full
  std::uint64_t ssd_write_bytes = 0, ssd_writes = 0;
  std::uint64_t ssd_read_busy_ns = 0, ssd_write_busy_ns = 0;  // bytes on their way
  GmmuCounters gmmu;
};

// Calls visit(name, value) for every counter, in output order. Defined once, used by JSON, CSV, SQLite and tests.
template <class CountersT, class Visitor>
void for_each_counter(CountersT& c, Visitor&& visit) {
#define UVMSIM_COUNTER(field) visit(#field, c.field)
  UVMSIM_COUNTER(raw_faults);
  UVMSIM_COUNTER(unmerged_faults);
  UVMSIM_COUNTER(faulting_pages);
  UVMSIM_COUNTER(fault_batches);
  UVMSIM_COUNTER(read_fault_batches);
  UVMSIM_COUNTER(write_fault_batches);
  UVMSIM_COUNTER(duplicate_faults);
  UVMSIM_COUNTER(stale_faults);
  UVMSIM_COUNTER(flushed_faults);
  UVMSIM_COUNTER(overflowed_faults);
  UVMSIM_COUNTER(replays);
  UVMSIM_COUNTER(wakeups);
  UVMSIM_COUNTER(blocks_serviced);
  UVMSIM_COUNTER(cpu_faults);
  UVMSIM_COUNTER(htod_fault_bytes);
  UVMSIM_COUNTER(htod_fault_transactions);
  UVMSIM_COUNTER(htod_prefetch_bytes);
  UVMSIM_COUNTER(htod_prefetch_transactions);
  UVMSIM_COUNTER(htod_user_bytes);
  UVMSIM_COUNTER(htod_user_transactions);
  UVMSIM_COUNTER(htod_counter_bytes);
  UVMSIM_COUNTER(htod_counter_transactions);
  UVMSIM_COUNTER(dtoh_fault_bytes);
  UVMSIM_COUNTER(dtoh_fault_transactions);
  UVMSIM_COUNTER(dtoh_prefetch_bytes);
  UVMSIM_COUNTER(dtoh_prefetch_transactions);
  UVMSIM_COUNTER(dtoh_user_bytes);
  UVMSIM_COUNTER(dtoh_user_transactions);
  UVMSIM_COUNTER(dtoh_evict_bytes);
  UVMSIM_COUNTER(dtoh_evict_transactions);
  UVMSIM_COUNTER(dtod_fault_bytes);
  UVMSIM_COUNTER(dtod_fault_transactions);
  UVMSIM_COUNTER(dtod_prefetch_bytes);
  UVMSIM_COUNTER(dtod_prefetch_transactions);
  UVMSIM_COUNTER(dtod_user_bytes);
  UVMSIM_COUNTER(dtod_user_transactions);
  UVMSIM_COUNTER(dtod_evict_bytes);
  UVMSIM_COUNTER(dtod_evict_transactions);
  UVMSIM_COUNTER(populated_pages);
  UVMSIM_COUNTER(reloaded_pages);
  UVMSIM_COUNTER(chunk_allocations);
  UVMSIM_COUNTER(evictions);
  UVMSIM_COUNTER(evictions_without_copy);
  UVMSIM_COUNTER(evictions_to_peers);
  UVMSIM_COUNTER(pre_evictions);
  UVMSIM_COUNTER(peer_write_backs);
  UVMSIM_COUNTER(spare_chunks_given_back);
  UVMSIM_COUNTER(parallel_fetches);
  UVMSIM_COUNTER(chunk_prefetches_from_host);
  UVMSIM_COUNTER(chunk_prefetches_from_peers);
  UVMSIM_COUNTER(chunk_prefetches_to_peers);
  UVMSIM_COUNTER(chunk_prefetches_moved_on);
  UVMSIM_COUNTER(chunk_prefetches_late);
  UVMSIM_COUNTER(chunk_prefetches_dropped);
  UVMSIM_COUNTER(policy_shortfalls);
  UVMSIM_COUNTER(remote_maps);
  UVMSIM_COUNTER(remote_map_bytes);
  UVMSIM_COUNTER(remote_access_bytes);
  UVMSIM_COUNTER(thrashing_pages);
  UVMSIM_COUNTER(throttles);
  UVMSIM_COUNTER(pins);
  UVMSIM_COUNTER(access_counter_notifications);
  UVMSIM_COUNTER(prefetched_pages);
  UVMSIM_COUNTER(discarded_pages);
  UVMSIM_COUNTER(kernels);
  UVMSIM_COUNTER(kernel_ns);
  UVMSIM_COUNTER(kernel_compute_ns);
  UVMSIM_COUNTER(fault_service_ns);
  UVMSIM_COUNTER(host_allocation_ns);
  UVMSIM_COUNTER(htod_busy_ns);
  UVMSIM_COUNTER(dtoh_busy_ns);
  UVMSIM_COUNTER(dtod_busy_ns);
  UVMSIM_COUNTER(host_reclaimed_pages);
  UVMSIM_COUNTER(host_clean_pages);
  UVMSIM_COUNTER(host_waits);
  UVMSIM_COUNTER(ssd_read_bytes);
  UVMSIM_COUNTER(ssd_reads);
  UVMSIM_COUNTER(ssd_waited_reads);
  UVMSIM_COUNTER(ssd_write_bytes);
  UVMSIM_COUNTER(ssd_writes);
  UVMSIM_COUNTER(ssd_read_busy_ns);
  UVMSIM_COUNTER(ssd_write_busy_ns);
#undef UVMSIM_COUNTER
#define UVMSIM_COUNTER(field) visit("gmmu_" #field, c.gmmu.field)
  UVMSIM_COUNTER(lookups);
  UVMSIM_COUNTER(l1_hits_4k);
  UVMSIM_COUNTER(l1_hits_64k);
  UVMSIM_COUNTER(l1_hits_2m);
  UVMSIM_COUNTER(l2_hits_4k);
  UVMSIM_COUNTER(l2_hits_64k);
  UVMSIM_COUNTER(l2_hits_2m);
  UVMSIM_COUNTER(walks_4k);
  UVMSIM_COUNTER(walks_64k);
  UVMSIM_COUNTER(walks_2m);
  UVMSIM_COUNTER(walk_memory_reads);
  UVMSIM_COUNTER(walk_ns);
  UVMSIM_COUNTER(stall_ns);
#undef UVMSIM_COUNTER
}

// later - earlier, counter by counter.
inline Counters difference(const Counters& later, const Counters& earlier) {
  Counters out = later;
  const std::uint64_t* values[128] = {};
  std::size_t count = 0;
  for_each_counter(earlier, [&](const char*, const std::uint64_t& value) { values[count++] = &value; });
  count = 0;
  for_each_counter(out, [&](const char*, std::uint64_t& value) { value -= *values[count++]; });
  return out;
}

// sum += times * part, counter by counter.
inline void add(Counters& sum, const Counters& part, std::uint64_t times) {
  const std::uint64_t* values[128] = {};
  std::size_t count = 0;
  for_each_counter(part, [&](const char*, const std::uint64_t& value) { values[count++] = &value; });
  count = 0;
  for_each_counter(sum, [&](const char*, std::uint64_t& value) { value += times * *values[count++]; });
}

}  // namespace uvmsim
