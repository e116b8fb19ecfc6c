// SPDX-License-Identifier: Apache-2.0
// Turns an execution trace of PyTorch or Chakra into a trace: operators or kernels in order, with the tensors of the
// operators. An execution trace has no accesses; the schemas of the operators tell which tensors they read and write.
//
// Record with `ExecutionTraceObserver`; chakra_trace_link adds the kernels of a profile.
//
// The conversion follows these rules:
// - If the trace has work of the GPU, each kernel accesses the tensors of the nearest enclosing operator that has any.
//   If it has none, an operator becomes a kernel if it writes memory of a GPU that no operator within it writes.
// - An operator reads its arguments, and writes those that its schema marks and those returned tensors whose storage no
//   argument has. The coverage is Coverage::kOperatorSchema. Whole tensors are accessed, from the first to the last
//   element.
// - A storage becomes a tensor of the trace; its size is that of the last byte that an operator names. PyTorch reuses
//   the number of a freed storage: a new storage begins when an operator returns it without having taken it. Storages
//   that no operator returns first are `allocated before` and live to the end; others live from their first access to
//   their last.
// - The order is that of the file. Host gaps are not recorded; durations are recorded if the trace has work of the GPU.
// - ProfilerStep#N are the iterations.
#pragma once

#include <cstdint>
#include <string>

#include "sim/import/importer.h"

namespace uvmsim::trace {

struct ChakraImportOptions {
  std::string provenance;
};

struct ChakraImportSummary {
  std::uint64_t nodes = 0, kernels = 0, covered_kernels = 0;
  // number of tensors that kernels and copies access, and how many of them were allocated before
  std::uint64_t tensors = 0, earlier_tensors = 0;
  std::uint64_t tensor_bytes = 0;
  std::uint64_t copies = 0, fills = 0, left_out = 0;  // left_out: copies and fills whose memory is not known
  std::uint64_t iterations = 0;
  bool durations = false;  // recorded
};

class ChakraImporter : public Importer<ChakraImportSummary> {
 public:
  static constexpr std::uint32_t kQuantumBytes = 512;

  // Reads the whole trace. Throws InputError that names the file, also for a trace without tensors on a GPU.
  explicit ChakraImporter(const std::string& path, const ChakraImportOptions& options = {});
};

}  // namespace uvmsim::trace
