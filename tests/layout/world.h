// SPDX-License-Identifier: Apache-2.0
// A layout on an empty address space.
#pragma once

#include <string>
#include <vector>

#include "sim/layout/layout.h"

namespace uvmsim::layout {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;

struct World {
  explicit World(const LayoutChoice& choice) : layout(choice, space) {}

  const Placement& object(trace::ObjectId id, std::uint64_t bytes, std::uint64_t va = 0) {
    trace::ObjectAlloc record;
    record.id = id;
    record.bytes = bytes;
    record.va = va;
    return placed(layout.allocate(record));
  }
  const Placement& segment(trace::ObjectId id, std::uint64_t bytes, std::uint64_t va = 0) {
    trace::ObjectAlloc record;
    record.id = id;
    record.bytes = bytes;
    record.va = va;
    return placed(layout.allocate(record, true));
  }
  const Placement& tensor(trace::ObjectId id, std::uint64_t bytes, trace::ObjectId inside = trace::kNoObject,
                          std::uint64_t offset = 0, std::uint32_t stream = 0) {
    trace::TensorAlloc record;
    record.id = id;
    record.bytes = bytes;
    record.stream = stream;
    record.object = inside;
    record.offset = offset;
    return placed(layout.allocate(record));
  }
  const Placement& placed(const Layout::Allocated& allocated) {
    taken = allocated.taken;
    return allocated.placement;
  }
  // Frees an object. Returns the blocks that were returned to the driver.
  std::vector<std::uint64_t> free(trace::ObjectId id) {
    std::vector<std::uint64_t> blocks;
    layout.free(id, [&](BlockIndex first, std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) blocks.push_back(first.value + i);
    });
    return blocks;
  }
  std::vector<std::uint64_t> free_tensor(trace::ObjectId id) {
    std::vector<std::uint64_t> blocks;
    layout.free_tensor(id, [&](BlockIndex first, std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) blocks.push_back(first.value + i);
    });
    return blocks;
  }

  AddressSpace space{1};
  Layout layout;
  Layout::Taken taken;  // by the last allocation
};

inline std::vector<std::uint64_t> blocks_of(const Placement& placement) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t i = 0; i < placement.blocks.size(); ++i) out.push_back(placement.blocks[i].value);
  return out;
}

using Blocks = std::vector<std::uint64_t>;

}  // namespace uvmsim::layout
