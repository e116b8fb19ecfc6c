// SPDX-License-Identifier: Apache-2.0
// Converts raw recordings (JSON lines, usually zstd-compressed) of absolute 64 KB pages into a trace.
//
// A raw recording consists of records in program order, with these keys:
//      header    {format: "uvm-raw-recording-1", gpu, driver, cuda, program, layout, page_bytes}
//      alloc     {addr, bytes}            free {addr}
//      copy      {kind: htod|dtoh|dtod, src, dst, bytes}   (host addresses are 0)
//      set       {addr, bytes}
//      iteration {index}                  (the iteration begins here)
//      kernel    {name, grid, block, dur_ns, gap_ns, pages: [[page = address / page_bytes, count, "r"|"w"|"rw"], ...]}
//
// The conversion follows these rules (workloads/README.md gives the reasons):
// - A touched page counts as touched for every live object that overlaps it, clipped to that object.
// - Copies from and to the host block the host; copies within the device and sets do not.
// - An iteration ends, after a synchronisation of the device, when the next one begins or the recording ends.
// - Matrix products and convolutions are recognised by name and marked Distribution::kTiled (kernel_names.h).
// - Recorded gaps are dropped: host_gap_ns is 0.
// - Addresses are kept as ObjectAlloc::va, and ids count from 1 in order of allocation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/import/importer.h"
#include "sim/trace/record.h"

namespace uvmsim::trace {

struct ImportOptions {
  ObjectKind kind = ObjectKind::kManaged;  // what the recorded allocations become
  std::uint32_t quantum_bytes = 512;       // must divide every recorded address
  std::string provenance;                  // for the header
};

struct ImportSummary {
  std::uint64_t kernels = 0;
  std::uint64_t objects = 0;
  std::uint64_t pages_outside = 0;  // touched pages that no live object overlaps: dropped
};

// An importer that reads the recording as it goes.
class RawImporter : public Importer<ImportSummary> {
 public:
  // Both throw InputError that names file and line, as does next(), for anything that a recording must not hold.
  explicit RawImporter(const std::string& path, const ImportOptions& options = {});
  RawImporter(std::string_view bytes, std::string name, const ImportOptions& options = {});
};

}  // namespace uvmsim::trace
