// SPDX-License-Identifier: Apache-2.0
// Counters of one run: plain integers that the model increments directly. Each is listed here once, with its meaning:
// the fields, JSON, CSV, SQLite, Python and `uvmsim run --explain-columns` follow. Meanings follow the driver and CUPTI
// (uvm_tools.c, CUpti_ActivityUnifiedMemoryCounter). Names end in their unit.
#pragma once

#include <cstdint>

namespace uvmsim {

// clang-format off
// In output order: a field and its meaning.
#define UVMSIM_TRANSFER_COUNTERS(X, name, meaning) \
  X(name##_bytes, meaning) X(name##_transactions, "contiguous copies of them")

#define UVMSIM_COUNTERS(X) \
  /* Faults */ \
  X(raw_faults, "entries fetched from the fault buffer, duplicates included") \
  X(unmerged_faults, "entries after coalescing at fetch (CUPTI's GPU page fault count)") \
  X(faulting_pages, "distinct 4 KiB pages serviced, summed over batches") \
  X(fault_batches, "fetches of the fault buffer (CUPTI GPU_PAGE_FAULT records)") \
  X(read_fault_batches, "of them: the batch's lowest page was read") \
  X(write_fault_batches, "of them: it was written") \
  X(duplicate_faults, "entries for a page that the batch has already") \
  X(stale_faults, "entries for a page that was served meanwhile") \
  X(flushed_faults, "entries thrown away by a flush before a replay") \
  X(overflowed_faults, "faults that did not fit the hardware buffer") \
  X(replays, "replays of stalled accesses") \
  X(wakeups, "interrupts that started the service thread") \
  X(blocks_serviced, "2 MiB VA blocks with faults, summed over batches") \
  X(cpu_faults, "page faults of the host") \
  /* Migration, by direction and cause */ \
  UVMSIM_TRANSFER_COUNTERS(X, htod_fault, "to the GPU because of a fault") \
  UVMSIM_TRANSFER_COUNTERS(X, htod_prefetch, "to the GPU by the prefetch policy") \
  UVMSIM_TRANSFER_COUNTERS(X, htod_user, "to the GPU by calls of the program") \
  UVMSIM_TRANSFER_COUNTERS(X, htod_counter, "to the GPU by access counters") \
  UVMSIM_TRANSFER_COUNTERS(X, dtoh_fault, "to the host because of a fault of the CPU") \
  UVMSIM_TRANSFER_COUNTERS(X, dtoh_prefetch, "to the host by the prefetch policy") \
  UVMSIM_TRANSFER_COUNTERS(X, dtoh_user, "to the host by calls of the program") \
  UVMSIM_TRANSFER_COUNTERS(X, dtoh_evict, "to the host by evictions") \
  UVMSIM_TRANSFER_COUNTERS(X, dtod_fault, "between GPUs because of a fault") \
  UVMSIM_TRANSFER_COUNTERS(X, dtod_prefetch, "between GPUs by the prefetch policy") \
  UVMSIM_TRANSFER_COUNTERS(X, dtod_user, "between GPUs by calls of the program") \
  UVMSIM_TRANSFER_COUNTERS(X, dtod_evict, "between GPUs by evictions") \
  X(populated_pages, "4 KiB pages zero-filled on the GPU") \
  X(reloaded_pages, "4 KiB pages that came back after an eviction, by faults or prefetched with them") \
  X(chunk_allocations, "chunks of 2 MiB given to blocks: free ones, and those that evictions emptied") \
  /* Eviction */ \
  X(evictions, "chunks taken away to make room") \
  X(evictions_without_copy, "of them: nothing had to be copied") \
  X(evictions_to_peers, "of them: into spare memory of another GPU") \
  X(pre_evictions, "of them: ahead of need, to keep a reserve free or as a planner commanded") \
  X(peer_write_backs, "chunks in spare memory that were copied on to the host") \
  X(spare_chunks_given_back, "chunks in spare memory that their GPU took for itself") \
  X(parallel_fetches, "blocks that came to a peer first, over its link to the host") \
  X(chunk_prefetches_from_host, "blocks prefetched beyond a batch over the GPU's own link") \
  X(chunk_prefetches_from_peers, "the same from spare memory of another GPU") \
  X(chunk_prefetches_to_peers, "the same over a peer's link into its spare memory") \
  X(chunk_prefetches_moved_on, "of those to peers: the GPU wanted them in time") \
  X(chunk_prefetches_late, "a fault waited for one on its way") \
  X(chunk_prefetches_dropped, "a new batch came before they began") \
  X(policy_shortfalls, "always 0: an eviction policy without a victim where one exists ends the run") \
  /* Remote access and thrashing */ \
  X(remote_maps, "blocks mapped without moving") \
  X(remote_map_bytes, "the same in bytes") \
  X(remote_access_bytes, "accessed in place over a link") \
  X(thrashing_pages, "pages that processors took from each other too often") \
  X(throttles, "of their faults: put off") \
  X(pins, "of them: mapped remotely instead") \
  X(access_counter_notifications, "notifications of the access counters") \
  X(prefetched_pages, "4 KiB pages that the prefetch policy added to a batch") \
  X(discarded_pages, "4 KiB pages whose content the program gave up") \
  /* Time */ \
  X(kernels, "kernels that ended") \
  X(kernel_ns, "their durations added up; more than the time where streams run side by side") \
  X(kernel_compute_ns, "the same with everything resident") \
  X(fault_service_ns, "the driver busy with fault batches") \
  X(host_allocation_ns, "host time in allocation and free calls") \
  X(htod_busy_ns, "copy engine to the GPU at work") \
  X(dtoh_busy_ns, "copy engine to the host at work") \
  X(dtod_busy_ns, "copy engines between GPUs at work") \
  /* Below the GPUs, where host memory is limited */ \
  X(host_reclaimed_pages, "4 KiB pages that left a full host") \
  X(host_clean_pages, "of them: without a write to the SSD") \
  X(host_waits, "arrivals that waited for host memory") \
  X(ssd_read_bytes, "read from the SSD") \
  X(ssd_reads, "requests of them") \
  X(ssd_waited_reads, "of them: the queue was full") \
  X(ssd_write_bytes, "written to the SSD") \
  X(ssd_writes, "requests of them") \
  X(ssd_read_busy_ns, "bytes on their way from the SSD") \
  X(ssd_write_busy_ns, "bytes on their way to it")

// Printed with the prefix "gmmu_". There is one look-up per touched page, even if one entry serves many at once.
#define UVMSIM_GMMU_COUNTERS(X) \
  X(lookups, "translations, one per touched page") \
  X(l1_hits_4k, "found in an SM's TLB, entries of 4 KiB") \
  X(l1_hits_64k, "the same of 64 KiB") \
  X(l1_hits_2m, "the same of 2 MiB") \
  X(l2_hits_4k, "found in the shared TLB, entries of 4 KiB") \
  X(l2_hits_64k, "the same of 64 KiB") \
  X(l2_hits_2m, "the same of 2 MiB") \
  X(walks_4k, "page walks to an entry of 4 KiB") \
  X(walks_64k, "the same of 64 KiB") \
  X(walks_2m, "the same of 2 MiB") \
  X(walk_memory_reads, "reads of page tables") \
  X(walk_ns, "durations of walks added up") \
  X(stall_ns, "added to kernels beyond what their recorded duration contains")
// clang-format on

#define UVMSIM_COUNTER(field, meaning) std::uint64_t field = 0;
struct GmmuCounters {
  UVMSIM_GMMU_COUNTERS(UVMSIM_COUNTER)
};
struct Counters {
  UVMSIM_COUNTERS(UVMSIM_COUNTER)
  GmmuCounters gmmu;

  // The sums over all causes.
  std::uint64_t htod_bytes() const {
    return htod_fault_bytes + htod_prefetch_bytes + htod_user_bytes + htod_counter_bytes;
  }
  std::uint64_t dtoh_bytes() const {
    return dtoh_fault_bytes + dtoh_prefetch_bytes + dtoh_user_bytes + dtoh_evict_bytes;
  }
};
#undef UVMSIM_COUNTER

// Calls visit(name, value, meaning) for every counter, in output order.
template <class CountersT, class Visitor>
void for_each_explained_counter(CountersT& c, Visitor&& visit) {
#define UVMSIM_COUNTER(field, meaning) visit(#field, c.field, meaning);
  UVMSIM_COUNTERS(UVMSIM_COUNTER)
#undef UVMSIM_COUNTER
#define UVMSIM_COUNTER(field, meaning) visit("gmmu_" #field, c.gmmu.field, meaning);
  UVMSIM_GMMU_COUNTERS(UVMSIM_COUNTER)
#undef UVMSIM_COUNTER
}

// Calls visit(name, value).
template <class CountersT, class Visitor>
void for_each_counter(CountersT& c, Visitor&& visit) {
  for_each_explained_counter(c, [&visit](const char* name, auto& value, const char*) { visit(name, value); });
}

// Calls visit(a's, b's) for every counter.
template <class Visitor>
void for_each_pair_of_counters(Counters& a, const Counters& b, Visitor&& visit) {
#define UVMSIM_COUNTER(field, meaning) visit(a.field, b.field);
  UVMSIM_COUNTERS(UVMSIM_COUNTER)
#undef UVMSIM_COUNTER
#define UVMSIM_COUNTER(field, meaning) visit(a.gmmu.field, b.gmmu.field);
  UVMSIM_GMMU_COUNTERS(UVMSIM_COUNTER)
#undef UVMSIM_COUNTER
}

// Returns later - earlier, counter by counter.
inline Counters difference(const Counters& later, const Counters& earlier) {
  Counters out = later;
  for_each_pair_of_counters(out, earlier, [](std::uint64_t& value, std::uint64_t before) { value -= before; });
  return out;
}

// sum += times * part, counter by counter.
inline void add(Counters& sum, const Counters& part, std::uint64_t times) {
  for_each_pair_of_counters(sum, part, [=](std::uint64_t& value, std::uint64_t more) { value += times * more; });
}

}  // namespace uvmsim
