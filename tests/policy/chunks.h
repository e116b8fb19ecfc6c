// SPDX-License-Identifier: Apache-2.0
// A GPU of a few root chunks, as an evictor sees it.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "sim/policy/registry.h"

namespace uvmsim::policy {

struct FakeChunks final : EvictionQueries {
  explicit FakeChunks(std::uint32_t count) : pinned(count, false) {}
  bool evictable(ChunkId chunk) const override { return !pinned.at(chunk.value); }
  ChunkView view(ChunkId) const override { return {ContentIndex(0), resident_pages}; }
  Nanoseconds now() const override { return {}; }
  ContentIndex incoming() const override { return next; }
  std::uint32_t free_chunks() const override { return 0; }

  std::vector<bool> pinned;
  ContentIndex next{};
  std::uint32_t resident_pages = 0;
};

inline std::shared_ptr<Evictor> evictor(std::string_view name, std::uint32_t chunk_count) {
  static const Future nothing;  // an oracle expects that nothing is used again
  return built_ins()->create<Evictor>(name, {}, 1, chunk_count, &nothing);
}

}  // namespace uvmsim::policy
