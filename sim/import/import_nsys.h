// SPDX-License-Identifier: Apache-2.0
// Turns an SQLite export of Nsight Systems into a trace, for programs that were not recorded by the tracer.
//
// Record with `nsys profile --trace=cuda --cuda-um-gpu-page-faults=true --cuda-um-cpu-page-faults=true
// --cuda-memory-usage=true --cuda-graph-trace=node`, then `nsys export --type sqlite`.
//
// Nsight sees kernels and the driver's events, not accesses. What the conversion decides:
//  - Order: that of the API calls (table CUPTI_ACTIVITY_KIND_RUNTIME), else that of the GPU's times. Host gaps are the
//    times between calls.
//  - Objects: the memory usage events, with their addresses; a free that is missing happens where the address is used
//    again. Unified-memory events outside of all of them make managed objects of whole 2 MB blocks, alive throughout.
//  - Accesses of a kernel: the pages that were migrated for its faults, and the lowest page of each of its fault
//    batches (all that is recorded where nothing had to be migrated), in the batch's mode. Pages that were resident, or
//    that the driver prefetched in time, are missing: a lower bound, Coverage::kDeclared; kNone without any. Faults are
//    a kernel's by time alone; of kernels that overlap they go to the one that started first.
//  - A kernel's duration is the recorded one less the time in which its fault batches were served.
//  - CPU faults are host accesses (read and write: the kind is not recorded). Copies have no addresses.
//  - Migrations and faults are also kept as UvmCounter records, kinds and flags as CUPTI's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/import/importer.h"

namespace uvmsim::trace {

struct NsysImportOptions {
  std::optional<std::uint32_t> process;  // pid, when several launched kernels
  bool counters = true;                  // keep the UvmCounter records
  std::string provenance;
};

struct NsysImportSummary {
  std::uint64_t kernels = 0, objects = 0, inferred_objects = 0;
  std::uint64_t covered_kernels = 0;     // with accesses
  std::uint64_t unattributed = 0;        // GPU faults and migrations for them outside of every kernel
  std::uint64_t ambiguous = 0;           // where kernels overlapped
  std::uint64_t outside = 0;             // events at addresses that no live object holds
  std::uint64_t missing_frees = 0;       // allocations over live ones
  std::uint64_t implied_host_bytes = 0;  // that the host had, as they came from there first (nsys_faults.h)
};

class NsysImporter : public Importer<NsysImportSummary> {
 public:
  static constexpr std::uint32_t kQuantumBytes = 512;

  // Reads the whole report. Throws InputError naming file, table and row.
  explicit NsysImporter(const std::string& path, const NsysImportOptions& options = {});
};

}  // namespace uvmsim::trace
