// SPDX-License-Identifier: Apache-2.0
// Turns a profile of PyTorch (torch.profiler, Kineto's JSON) with memory events into a trace: sizes, lifetimes,
// launches, times. A profile has no accesses; they follow from the inputs and outputs of the operators around the
// launches.
//
// Record with `profile(activities=[CPU, CUDA], profile_memory=True, record_shapes=True)`, then export_chrome_trace().
//
// The conversion follows these rules:
// - Records are in the order of the calls, or if calls are missing, of the GPU's times. Host gaps are the times between
//   calls.
// - Every allocation of the caching allocator becomes a tensor of its own size, outside of any object, because the
//   profile does not show segments. Memory that the allocator held before the first event is `allocated before`: as
//   much of it as operators use.
// - The profile has the shapes of an operator's inputs but not their addresses. An input is assumed to be the live
//   allocation of its size that was used last; among memory from before the profile, the least recently used one, so
//   that layers of equal shape alternate. Inputs without a matching allocation are left out (`unmatched`).
// - A kernel reads the inputs of the operator that launched it, or of the nearest enclosing one that has inputs. It
//   writes the memory that was allocated within that operator. If there is none, or the operator's name ends in `_`, it
//   also writes the inputs (a copy: the first one). The coverage is Coverage::kOperatorSchema.
// - Copies and fills on the GPU have no addresses: copies become copies of plain memory, fills are left out.
// - ProfilerStep#N are the iterations.
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
  std::uint64_t tensors = 0, earlier_tensors = 0;  // number of tensors allocated within the profile, and before it
  // bytes of `earlier_tensors`, and all bytes that the allocator held before the profile
  std::uint64_t earlier_bytes = 0, earlier_total_bytes = 0;
  // operands of operators that launched kernels, and those without a matching allocation
  std::uint64_t operands = 0, unmatched = 0;
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
