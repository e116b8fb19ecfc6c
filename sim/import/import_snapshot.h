// SPDX-License-Identifier: Apache-2.0
// Turns a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot) into a trace: segments, sizes, lifetimes,
// names. A snapshot has no kernels, so nobody knows what touches the memory.
//
// Record with `torch.cuda.memory._record_memory_history()` before, then _dump_snapshot().
//
// The conversion decides:
//  - Segments of the caching allocator are objects, and allocations are tensors in them, of the size asked for. A
//  tensor
//    lives until its free was completed. Pieces of expandable segments are no objects: their tensors lie in none.
//  - The history is a ring of its last events. What it frees without having allocated it, and what the snapshot holds
//    without it, was allocated before: that comes first in the trace.
//  - A tensor's name is the innermost frame outside of PyTorch that allocated it.
//  - Accesses: none (default), so that a replay moves nothing. With kLifetimes, each tensor of the history is assumed
//  to
//    be written by a kernel after its allocation and read by one before its free; the header says so, and the coverage
//    is Coverage::kDeclared.
#pragma once

#include <cstdint>
#include <string>

#include "sim/import/importer.h"

namespace uvmsim::trace {

enum class SnapshotAccesses : std::uint8_t { kNone, kLifetimes };

struct SnapshotImportOptions {
  ObjectKind kind = ObjectKind::kManaged;  // of the segments
  SnapshotAccesses accesses = SnapshotAccesses::kNone;
  std::string provenance;
};

struct SnapshotImportSummary {
  std::uint64_t segments = 0, tensors = 0;
  std::uint64_t earlier_tensors = 0;  // of `tensors`: allocated before the history begins
  std::uint64_t unplaced = 0;         // of `tensors`: in expandable segments
  std::uint64_t most_bytes = 0;       // of all tensors at a time
  std::uint64_t out_of_memory = 0;
  bool history = false;
};

class SnapshotImporter : public Importer<SnapshotImportSummary> {
 public:
  static constexpr std::uint32_t kQuantumBytes = 512;

  // Reads the whole snapshot. Throws InputError that names the file.
  explicit SnapshotImporter(const std::string& path, const SnapshotImportOptions& options = {});
};

}  // namespace uvmsim::trace
