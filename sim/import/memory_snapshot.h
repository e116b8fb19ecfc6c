// SPDX-License-Identifier: Apache-2.0
// A memory snapshot of PyTorch (torch.cuda.memory._dump_snapshot, a pickle; or the same as JSON) as plain rows: the
// segments that the caching allocator held when it was taken, and the history of its earlier actions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace uvmsim::trace {

struct MemorySnapshot {
  struct Block {
    std::uint64_t address = 0, bytes = 0;
    std::uint64_t stream = 0;
    std::string name;  // as Event::name
  };
  struct Segment {
    std::int32_t device = 0;
    std::uint64_t address = 0, bytes = 0;
    bool expandable = false;
    std::vector<Block> blocks;  // in use
  };
  enum class Action : std::uint8_t { kAlloc, kFree, kSegmentAlloc, kSegmentFree, kExpandable };
  struct Event {
    Action action = Action::kAlloc;
    std::int32_t device = 0;
    std::uint64_t address = 0, bytes = 0;
    std::uint64_t stream = 0;  // cudaStream_t, a number of its own
    std::int64_t time_us = 0;
    std::string name;  // "function (file.py:12)": the innermost frame outside of PyTorch; empty without frames
  };

  std::vector<Segment> segments;
  std::vector<Event> events;        // by time
  std::uint64_t out_of_memory = 0;  // failed allocations
  bool history = false;
};

// Throws InputError that names the file and the place for impossible values, and for files that are no such snapshot.
MemorySnapshot read_memory_snapshot(const std::string& path);

}  // namespace uvmsim::trace
