// SPDX-License-Identifier: Apache-2.0
// A root chunk: 2 MB of one GPU's memory. Dense ids, 0 .. chunk_count - 1 per GPU.
#pragma once

#include <cstdint>

namespace uvmsim {

struct ChunkId {
  static constexpr std::uint32_t kNone = 0xffffffff;
  std::uint32_t value = kNone;
  constexpr bool valid() const { return value != kNone; }
  constexpr bool operator==(const ChunkId&) const = default;
};

}  // namespace uvmsim
