// SPDX-License-Identifier: Apache-2.0
// Turns a memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot) into a trace: segments, sizes, lifetimes,
// names. A snapshot has no kernels, so accesses to the memory are unknown.
//
// Record with `torch.cuda.memory._record_memory_history()` before the program, then _dump_snapshot().
//
// The conversion follows these rules:
// - Segments of the caching allocator become objects, and allocations become tensors in them, with the requested size.
//   A tensor lives until its free was completed. Pieces of expandable segments do not become objects, and their tensors
//   lie in no object.
// - The history is a ring of the last events. Memory that it frees without having allocated it, and memory that is only
//   in the snapshot, was allocated before: it comes first in the trace.
// - A tensor's name is the innermost frame outside of PyTorch that allocated it.
// - By default there are no accesses, so that a replay moves nothing. With kLifetimes, each tensor of the history is
//   assumed to be written by a kernel after its allocation and read by one before its free; the header says so, and the
//   coverage is Coverage::kDeclared.
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
  std::uint64_t most_bytes = 0;       // largest sum of all tensors at any time
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
