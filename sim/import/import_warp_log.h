// SPDX-License-Identifier: Apache-2.0
// Turns addresses of warps (warp_log.h: NVBit's mem_trace, kernels of Accel-Sim) into a trace.
//
// The conversion follows these rules:
// - Neither tool records allocations. Objects are the 2 MB blocks in which memory is touched or copied; adjacent blocks
//   are one object, which lives throughout.
// - Accesses of a kernel are exact, to units of 512 bytes, and phases say which thread blocks touch which units (up to
//   kMostPhases slices of the grid). The order within a block is lost.
// - With managed memory, the host writes the bytes of each recorded copy to the GPU at the time of the copy, and at the
//   start the memory that a kernel reads before anything writes it. With device memory, copies stay copies, and the
//   host writes nothing.
// - Durations are not recorded: they are taken as 2 us and 1 ns per 1000 bytes touched. Copies to the host and frees
//   are not recorded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/import/importer.h"
#include "sim/import/warp_log.h"

namespace uvmsim::trace {

struct WarpImportOptions {
  ObjectKind kind = ObjectKind::kManaged;  // or kDevice
  std::string provenance;
};

struct WarpImportSummary {
  std::uint64_t kernels = 0, objects = 0, copies = 0;
  std::uint64_t instructions = 0;   // on global memory
  std::uint64_t touched_bytes = 0;  // of all objects, each byte once
  // bytes that kernels read before writing them, so that the host must have written them
  std::uint64_t implied_host_bytes = 0;
  std::uint64_t without_phases = 0;  // kernels whose phases were too many to be kept
};

class WarpLogImporter : public Importer<WarpImportSummary> {
 public:
  static constexpr std::uint64_t kMostPhases = 4096;

  // Reads the whole log. `tool` and `path` go into the header.
  WarpLogImporter(WarpLog& log, const std::string& tool, const std::string& path,
                  const WarpImportOptions& options = {});
};

}  // namespace uvmsim::trace
