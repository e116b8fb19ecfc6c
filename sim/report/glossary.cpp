#include "sim/report/glossary.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

namespace uvmsim::report {
namespace {

constexpr TermKind kTable = TermKind::kTable, kColumn = TermKind::kColumn;

constexpr Term kTerms[] = {
    // Tables of `uvmsim run`
    {"footprint", "GPU memory (2 MiB chunks) that holds all live managed memory at its peak", kTable},
    {"capacity (GiB)", "GPU memory that the program had for managed data", kTable},
    {"OSF", "oversubscription factor: footprint / capacity; \"ran\": what whole chunks made of it", kTable},
    {"time (ms)", "of a settled iteration (of the whole run where the trace marks no iterations)", kTable},
    {"shortest (ms), longest (ms)", "the extremes over the seeds; all else is the mean", kTable},
    {"slowdown", "time / time under the driver's own policies with the GPU's whole memory", kTable},
    {"slowdown against all resident", "time / time with everything resident and no cost of managed memory", kTable},
    {"kernel sum (ms)", "durations of all kernels added up: more than the time where streams run side by side", kTable},
    {"kernel sum, all resident (ms)", "the same with everything resident", kTable},
    {"driver serving faults (ms)", "the driver's thread busy with fault batches", kTable},
    {"host in allocation calls (ms)", "host time in allocation and free calls", kTable},
    {"fault batches", "what the driver's thread fetched and served at once", kTable},
    {"faulting pages", "distinct 4 KiB pages that batches served; one that comes back counts again", kTable},
    {"HtoD (GiB), DtoH (GiB)", "all that moved to the GPU, and to the host, whatever the cause; per iteration, or run",
     kTable},
    {"first touch, zero-filled (GiB)", "pages that were resident nowhere and got zeros on the GPU", kTable},
    {"evictions", "2 MiB chunks (64 KiB under some policies) taken away to make room", kTable},
    {"all resident", "the program with its data on the GPU and no cost of managed memory", kTable},
    {"settled iterations", "those from which on all agree, or take turns; numbers are their means", kTable},
    {"learning, learning_iterations",
     "iterations before the first settled one; \"no\" or empty: the run has not settled", kTable},
    {"is_settled, settled_period", "whether the run has settled within its iterations; how many take turns", kTable},
    // Columns of CSV and keys of JSON
    {"uvmsim_version, uvmsim_commit", "the simulator that ran", kColumn},
    {"model_version", "fingerprint of the sources that results follow from", kColumn},
    {"command", "the same run as a command line of `uvmsim run`", kColumn},
    {"trace, trace_sha256", "the trace's file name, and the hash of its content", kColumn},
    {"system, system_sha256", "the system's name, and the hash of all its values", kColumn},
    {"layout, layout_parameters", "where memory lay, with every parameter in force", kColumn},
    {"prefetch, evict, plan, migrate, route", "the policies, with every parameter in force", kColumn},
    {"seed", "of policies that draw random numbers", kColumn},
    {"include_host_gaps", "1: the recorded host time between calls was replayed", kColumn},
    {"time_scale", "what kernel durations were multiplied by: none, a factor, or roofline", kColumn},
    {"osf", "footprint_bytes / capacity_bytes, after rounding to whole chunks", kColumn},
    {"footprint_bytes, capacity_bytes", "what the factor divides, and GPU memory for managed data", kColumn},
    {"scope", "iteration: a row about one marked iteration; total: about the whole run", kColumn},
    {"iteration", "its number in the trace; empty for the whole run", kColumn},
    {"settled", "1: one of the iterations whose mean is the result; empty for the whole run", kColumn},
    {"begin_ns, end_ns, duration_ns", "from the start of the run; their difference", kColumn},
    {"ideal_ns", "the same with everything resident and no cost of managed memory", kColumn},
    {"position, id", "of a sweep: the point's place in the plan, and its id (sim/sweep/README.md)", kColumn},
    {"settings", "of a sweep: changed numbers of the system, as JSON", kColumn},
    {"limit_by, osf_thousandths", "of a sweep: none, osf or capacity; the factor that was asked for", kColumn},
    {"iterations_asked", "of a sweep: how many were to run; empty: as recorded", kColumn},
    {"settled_ns", "of a sweep: the time of a settled iteration, else of the whole run", kColumn},
    {"slowdown_thousandths", "of a sweep: against the driver's own policies with the GPU's whole memory", kColumn},
    // Counters, as JSON and CSV name them
    {"raw_faults", "entries fetched from the fault buffer, duplicates included"},
    {"unmerged_faults", "entries after coalescing at fetch (CUPTI's GPU page fault count)"},
    {"faulting_pages", "distinct 4 KiB pages serviced, summed over batches"},
    {"fault_batches", "fetches of the fault buffer (CUPTI GPU_PAGE_FAULT records)"},
    {"read_fault_batches", "of them: the batch's lowest page was read"},
    {"write_fault_batches", "of them: it was written"},
    {"duplicate_faults", "entries for a page that the batch has already"},
    {"stale_faults", "entries for a page that was served meanwhile"},
    {"flushed_faults", "entries thrown away by a flush before a replay"},
    {"overflowed_faults", "faults that did not fit the hardware buffer"},
    {"replays", "replays of stalled accesses"},
    {"wakeups", "interrupts that started the service thread"},
    {"blocks_serviced", "2 MiB VA blocks with faults, summed over batches"},
    {"cpu_faults", "page faults of the host"},
    {"htod_fault_bytes", "to the GPU because of a fault"},
    {"htod_fault_transactions", "contiguous copies of them"},
    {"htod_prefetch_bytes", "to the GPU by the prefetch policy"},
    {"htod_prefetch_transactions", "contiguous copies of them"},
    {"htod_user_bytes", "to the GPU by calls of the program"},
    {"htod_user_transactions", "contiguous copies of them"},
    {"htod_counter_bytes", "to the GPU by access counters"},
    {"htod_counter_transactions", "contiguous copies of them"},
    {"dtoh_fault_bytes", "to the host because of a fault of the CPU"},
    {"dtoh_fault_transactions", "contiguous copies of them"},
    {"dtoh_prefetch_bytes", "to the host by the prefetch policy"},
    {"dtoh_prefetch_transactions", "contiguous copies of them"},
    {"dtoh_user_bytes", "to the host by calls of the program"},
    {"dtoh_user_transactions", "contiguous copies of them"},
    {"dtoh_evict_bytes", "to the host by evictions"},
    {"dtoh_evict_transactions", "contiguous copies of them"},
    {"dtod_fault_bytes", "between GPUs because of a fault"},
    {"dtod_fault_transactions", "contiguous copies of them"},
    {"dtod_prefetch_bytes", "between GPUs by the prefetch policy"},
    {"dtod_prefetch_transactions", "contiguous copies of them"},
    {"dtod_user_bytes", "between GPUs by calls of the program"},
    {"dtod_user_transactions", "contiguous copies of them"},
    {"dtod_evict_bytes", "between GPUs by evictions"},
    {"dtod_evict_transactions", "contiguous copies of them"},
    {"populated_pages", "4 KiB pages zero-filled on the GPU"},
    {"reloaded_pages", "4 KiB pages that came back after an eviction, by faults or prefetched with them"},
    {"chunk_allocations", "chunks of 2 MiB given to blocks: free ones, and those that evictions emptied"},
    {"evictions", "chunks taken away to make room"},
    {"evictions_without_copy", "of them: nothing had to be copied"},
    {"evictions_to_peers", "of them: into spare memory of another GPU"},
    {"pre_evictions", "of them: ahead of need, to keep a reserve free or as a planner commanded"},
    {"peer_write_backs", "chunks in spare memory that were copied on to the host"},
    {"spare_chunks_given_back", "chunks in spare memory that their GPU took for itself"},
    {"parallel_fetches", "blocks that came to a peer first, over its link to the host"},
    {"chunk_prefetches_from_host", "blocks prefetched beyond a batch over the GPU's own link"},
    {"chunk_prefetches_from_peers", "the same from spare memory of another GPU"},
    {"chunk_prefetches_to_peers", "the same over a peer's link into its spare memory"},
    {"chunk_prefetches_moved_on", "of those to peers: the GPU wanted them in time"},
    {"chunk_prefetches_late", "a fault waited for one on its way"},
    {"chunk_prefetches_dropped", "a new batch came before they began"},
    {"policy_shortfalls", "always 0: an eviction policy without a victim where one exists ends the run"},
    {"remote_maps", "blocks mapped without moving"},
    {"remote_map_bytes", "the same in bytes"},
    {"remote_access_bytes", "accessed in place over a link"},
    {"thrashing_pages", "pages that processors took from each other too often"},
    {"throttles", "of their faults: put off"},
    {"pins", "of them: mapped remotely instead"},
    {"access_counter_notifications", "notifications of the access counters"},
    {"prefetched_pages", "4 KiB pages that the prefetch policy added to a batch"},
    {"discarded_pages", "4 KiB pages whose content the program gave up"},
    {"kernels", "kernels that ended"},
    {"kernel_ns", "their durations added up; more than the time where streams run side by side"},
    {"kernel_compute_ns", "the same with everything resident"},
    {"fault_service_ns", "the driver busy with fault batches"},
    {"host_allocation_ns", "host time in allocation and free calls"},
    {"htod_busy_ns", "copy engine to the GPU at work"},
    {"dtoh_busy_ns", "copy engine to the host at work"},
    {"dtod_busy_ns", "copy engines between GPUs at work"},
    {"host_reclaimed_pages", "4 KiB pages that left a full host"},
    {"host_clean_pages", "of them: without a write to the SSD"},
    {"host_waits", "arrivals that waited for host memory"},
    {"ssd_read_bytes", "read from the SSD"},
    {"ssd_reads", "requests of them"},
    {"ssd_waited_reads", "of them: the queue was full"},
    {"ssd_write_bytes", "written to the SSD"},
    {"ssd_writes", "requests of them"},
    {"ssd_read_busy_ns", "bytes on their way from the SSD"},
    {"ssd_write_busy_ns", "bytes on their way to it"},
    {"gmmu_lookups", "translations, one per touched page"},
    {"gmmu_l1_hits_4k", "found in an SM's TLB, entries of 4 KiB"},
    {"gmmu_l1_hits_64k", "the same of 64 KiB"},
    {"gmmu_l1_hits_2m", "the same of 2 MiB"},
    {"gmmu_l2_hits_4k", "found in the shared TLB, entries of 4 KiB"},
    {"gmmu_l2_hits_64k", "the same of 64 KiB"},
    {"gmmu_l2_hits_2m", "the same of 2 MiB"},
    {"gmmu_walks_4k", "page walks to an entry of 4 KiB"},
    {"gmmu_walks_64k", "the same of 64 KiB"},
    {"gmmu_walks_2m", "the same of 2 MiB"},
    {"gmmu_walk_memory_reads", "reads of page tables"},
    {"gmmu_walk_ns", "durations of walks added up"},
    {"gmmu_stall_ns", "added to kernels beyond what their recorded duration contains"},
};

}  // namespace

std::span<const Term> glossary() { return kTerms; }

std::string glossary_text() {
  std::string text;
  for (const Term& term : kTerms) text += fmt::format("{:<34} {}\n", term.name, term.meaning);
  return text;
}

std::string glossary_json() {
  constexpr std::array<const char*, 3> kKinds = {"counter", "column", "table"};
  nlohmann::ordered_json terms = nlohmann::ordered_json::array();
  for (const Term& term : kTerms) {
    terms.push_back(
        {{"kind", kKinds[static_cast<std::size_t>(term.kind)]}, {"name", term.name}, {"meaning", term.meaning}});
  }
  return nlohmann::ordered_json{{"schema_version", 1}, {"terms", std::move(terms)}}.dump(2) + "\n";
}

}  // namespace uvmsim::report
