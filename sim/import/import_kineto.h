// SPDX-License-Identifier: Apache-2.0
// Turns a profile of PyTorch (torch.profiler, Kineto's JSON) with memory events into a trace: sizes, lifetimes,
// launches, times. A profile has no accesses; the operators around the launches tell their inputs and outputs.
//
// Record with `profile(activities=[CPU, CUDA], profile_memory=True, record_shapes=True)`, then export_chrome_trace().
//
// The conversion decides:
//  - Records are in the order of the calls, else in that of the GPU's times. Host gaps are the times between calls.
//  - Every allocation of the caching allocator is a tensor of its own size, in no object: the profile does not show
//    segments. Memory that it held before the first event is `allocated before`: as much of it as operators take.
//  - The profile has shapes of an operator's inputs and no addresses. An input is the live allocation of its size that
//    was used last; of memory from before, the least recently used one, so that layers of one shape take turns. Inputs
//    that fit nothing are left out (`unmatched`).
//  - A kernel reads the inputs of the operator that launched it, or of the nearest one around that has inputs. It
//    writes what was allocated within that operator; if nothing was, or the operator's name ends in `_`, the inputs too
//    (of a copy the first one). The coverage is Coverage::kOperatorSchema.
//  - Copies and fills on the GPU have no addresses: copies are of plain memory, fills are left out.
//  - ProfilerStep#N are the iterations.
#pragma once

#include <cstdint>
#include <string>

#include "sim/import/importer.h"

namespace uvmsim::trace {

struct KinetoImportOptions {
  std::string provenance;
};

struct KinetoImportSummary {
  std::uint64_t kernels = 0, covered_kernels = 0;
  std::uint64_t tensors = 0, earlier_tensors = 0;            // made within the profile; before it
  std::uint64_t earlier_bytes = 0, earlier_total_bytes = 0;  // of `earlier_tensors`; that the allocator held
  std::uint64_t operands = 0, unmatched = 0;                 // of operators that launched kernels
  std::uint64_t copies = 0, fills_left_out = 0;
  std::uint64_t iterations = 0;
  bool shapes = false;  // whether shapes were recorded
};

class KinetoImporter : public Importer<KinetoImportSummary> {
 public:
  static constexpr std::uint32_t kQuantumBytes = 512;

  // Reads the whole profile. Throws InputError that names the file, also for a profile without memory events.
  explicit KinetoImporter(const std::string& path, const KinetoImportOptions& options = {});
};

}  // namespace uvmsim::trace
