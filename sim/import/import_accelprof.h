// SPDX-License-Identifier: Apache-2.0
// Turns logs of AccelProf (also published as PASTA) into a trace. Three of its tools write as text which memory a
// kernel touched, according to their public sources (AccelProf/AccelProf, sanalyzer/src/tools, 2025):
// - uvm_advisor (`uvm_advisor_opt.log`, one file): operators with their kernels, and for each kernel the managed
//   allocations and the large tensors (above 1 MB) that it touched. These are whole objects, without the kind of
//   access; allocations and tensors made within the same operator are not listed. Names are cut off at 30 characters.
// - mem_trace (`traces_.../kernel_N.txt`, one file per kernel): every address of every warp, with size and flags (bits:
//   1 read, 2 write, 4 atomic), then the allocations and tensors that were live.
// - hot_analysis (`hotness_.../kernel_N.txt`): how often each 2 MB of every allocation was touched, without the kind of
//   access, then the live allocations and tensors.
//
// Logs of its other tools have no kernels or no addresses (time_hotness, app_analysis, event_trace) and are refused.
//
// The conversion follows these rules:
// - The path is one file, or a folder of kernel_N.txt, taken in order of N. The lines of a file tell which tool wrote
//   it.
// - An allocation becomes live before the first kernel that lists it (uvm_advisor: touches it). It ends when another
//   one takes its address or, in mem_trace and hot_analysis, when it is no longer listed. uvm_advisor lists only
//   managed memory. The other tools do not name the kind of memory; the caller chooses it.
// - Tensors lie in the allocation that contains them. If a kernel names tensors in an allocation, it touched those,
//   otherwise all of it. Accesses of unrecorded kind count as reads and writes.
// - Grid, block and duration are not recorded. A block is taken to have 256 threads; the number of warps is the largest
//   recorded one (mem_trace), or follows from 16 bytes per thread; the duration is 2 us + 1 ns per 1000 bytes touched.
//   The header's attributes say so.
#pragma once

#include <cstdint>
#include <string>

#include "sim/import/importer.h"

namespace uvmsim::trace {

struct AccelprofImportOptions {
  ObjectKind kind = ObjectKind::kManaged;
  std::string provenance;
};

struct AccelprofImportSummary {
  std::string tool;  // uvm_advisor, mem_trace or hot_analysis
  std::uint64_t kernels = 0, objects = 0, tensors = 0;
  std::uint64_t bytes_outside = 0;  // touched bytes outside of all live allocations: left out
};

class AccelprofImporter : public Importer<AccelprofImportSummary> {
 public:
  static constexpr std::uint32_t kQuantumBytes = 512;

  // Throws InputError that names file and line, as does next().
  explicit AccelprofImporter(const std::string& path, const AccelprofImportOptions& options = {});
};

}  // namespace uvmsim::trace
