// SPDX-License-Identifier: Apache-2.0
// Turns an SQLite export of Nsight Systems into a trace, for programs that were not recorded by the tracer.
//
// Record with `nsys profile --trace=cuda,nvtx --cuda-um-gpu-page-faults=true --cuda-um-cpu-page-faults=true
// --cuda-memory-usage=true --cuda-graph-trace=node`, then `nsys export --type sqlite`. If a report was recorded with
// fewer flags, the header and `not_recorded` name what is missing and the flag that records it.
//
// Nsight records kernels and the driver's events, not accesses. The conversion follows these rules:
// - Records are in the order of the API calls (table CUPTI_ACTIVITY_KIND_RUNTIME), or if these are missing, of the
//   GPU's times. Host gaps are the times between calls.
// - Objects come from the memory usage events, with their addresses; a missing free happens when the address is used
//   again. Unified-memory events outside of all objects make managed objects of whole 2 MB blocks, which live
//   throughout.
// - Accesses of a kernel are the pages that migrated to its GPU while it ran, for its faults or with them (the driver's
//   prefetching), and the lowest page of each of its fault batches (the only recorded page if nothing had to migrate),
//   in the batch's mode. If pages return from a GPU to which no migration brought them, the last kernel wrote them.
//   Pages that were resident already are missing, and pages that were migrated but not used are included;
//   NsysAccesses::kFaulted takes only pages that faulted, a lower bound. The coverage is Coverage::kDeclared, or kNone
//   without any accesses. Faults belong to a kernel by time alone; if kernels overlap on one GPU, to the one that
//   started first.
// - A kernel's duration is the recorded one less the time in which its faults were served (nsys_faults.h).
// - CPU faults, and pages that migrated to the host for its faults or with them, are host accesses (read and write,
//   because the kind is not recorded).
// - Migrations by user calls become prefetches. They belong to the call (cudaMemPrefetchAsync) during which they began,
//   otherwise to the first call before it that has no migrations yet, and run on the stream of the next launch. Calls
//   that moved nothing are left out.
// - Copies and fills have no addresses. If one end is managed memory, it is the only managed object of that size, or
//   the only one that is large enough; otherwise it becomes plain memory, or a fill is left out. Fills of plain memory
//   are left out too.
// - For waits of the host and of streams, the name of the call and the stream or event of its row tell what is waited
//   for. If the report does not say, the host waits for all work, and a stream does not wait.
// - Ranges of NVTX: see nsys_ranges.h. Graph launches recorded as wholes are left out.
// - Migrations and faults are also kept as UvmCounter records, with CUPTI's kinds and flags.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/import/importer.h"

namespace uvmsim::trace {

enum class NsysAccesses : std::uint8_t { kMoved, kFaulted };

struct NsysImportOptions {
  std::optional<std::uint32_t> process;  // pid, needed if several processes launched kernels
  NsysAccesses accesses = NsysAccesses::kMoved;
  std::string iterations;  // name of the NVTX ranges that are iterations; empty: found by nsys_ranges.h
  bool counters = true;    // keep the UvmCounter records
  std::string provenance;
};

// Bytes of unified memory that moved in the recording, except for evictions, and the part of them that accesses and
// prefetches of the trace explain.
struct AccountedBytes {
  std::uint64_t recorded = 0, accounted = 0;
};

struct NsysImportSummary {
  std::uint64_t kernels = 0, objects = 0, inferred_objects = 0;
  std::uint64_t covered_kernels = 0;  // number of kernels with accesses
  std::uint64_t unattributed = 0;     // GPU faults and their migrations outside of every kernel
  std::uint64_t ambiguous = 0;        // the part of `unattributed` at times when kernels overlapped
  std::uint64_t outside = 0;          // events at addresses that no live object holds
  std::uint64_t missing_frees = 0;    // allocations that overlap live ones
  // bytes that the host held, because they first migrated from there (nsys_faults.h)
  std::uint64_t implied_host_bytes = 0;
  std::uint64_t implied_gpu_bytes = 0;  // bytes that a GPU held, because they returned from there (nsys_faults.h)
  std::int64_t kernel_ns = 0;           // recorded
  std::int64_t served_ns = 0;           // part of `kernel_ns` in which faults were served
  std::uint64_t graphs = 0;             // launches recorded as wholes, left out
  std::int64_t graph_ns = 0;
  AccountedBytes to_gpu, to_host;
  std::uint64_t prefetch_calls = 0, idle_prefetch_calls = 0;  // all calls; those that moved nothing and are left out
  std::uint64_t fills = 0, fills_left_out = 0;
  std::uint64_t unplaced_copies = 0;  // of managed memory, left as copies of plain memory
  std::uint64_t vague_waits = 0;      // waits of the host whose object is unknown: they became waits for all work
  std::uint64_t lost_waits = 0;       // waits of streams for unknown events, left out
  std::string iteration;              // name of the NVTX ranges that became iterations
  std::uint64_t iterations = 0;
  std::vector<std::string> not_recorded;  // each with the flag that would record it
};

class NsysImporter : public Importer<NsysImportSummary> {
 public:
  static constexpr std::uint32_t kQuantumBytes = 512;

  // Reads the whole report. Throws InputError that names file, table and row.
  explicit NsysImporter(const std::string& path, const NsysImportOptions& options = {});
};

}  // namespace uvmsim::trace
