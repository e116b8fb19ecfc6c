// SPDX-License-Identifier: Apache-2.0
// Fetches the next units of the program's future order that are not on the GPU.
#include <algorithm>
#include <vector>

#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

// It fetches into free memory, and beyond that as much as the parameter `evicting` allows: a fetch that is too early
// evicts memory that is needed sooner. Therefore one fault fetches blocks for at most half of the GPU.
class OracleNext final : public Prefetcher {
 public:
  static PolicyInfo info() {
    return {.description = "the next 64 KB units that the program will use and that are not there",
            .source = "an oracle: reads the trace ahead",
            .information = InformationClass::kD4};
  }
  static ParameterTable parameters() {
    return {integer("units", 64, {1, 1 << 20}, "64 KB units that come with a fault, at most"),
            integer("look", 4096, {1, 1 << 30}, "uses of the program that it looks ahead to find them"),
            boolean("evicting", true, "also where nothing is free any more")};
  }

  OracleNext(const PolicyContext& context, const Future& future)
      : units_(context.parameters.integer("units")),
        look_(static_cast<Future::Position>(context.parameters.integer("look"))),
        evicting_(context.parameters.boolean("evicting")),
        most_blocks_(std::max(1u, context.chunk_count / 2)),
        future_(future) {}

  PageMask prefetch(const FaultedBlock& block) override {
    return block.to_host ? PageMask{} : block.faulted.grown_to_big_pages() - block.thrashing;
  }

  void prefetch_beyond(const FaultedBlock& faults, const PrefetchQueries& queries,
                       std::vector<PageSpan>& spans) override {
    if (!evicting_ && queries.free_chunks() == 0) return;
    const std::size_t before = spans.size();
    std::int64_t left = units_;
    const Future::Position end = std::min(future_.end(), future_.now() + look_);
    std::uint32_t blocks = 0;
    BlockIndex last = faults.block;
    for (Future::Position position = future_.now(); position < end && left > 0; ++position) {
      const ContentIndex unit = future_.at(position);
      if (unit == Future::kNothing) continue;
      const BlockIndex block(unit.value / kBigPagesPerBlock);
      const auto first = static_cast<unsigned>(unit.value % kBigPagesPerBlock) * kPagesPerBigPage;
      const PageMask pages = PageMask::range(first, kPagesPerBigPage);
      if (!queries.missing(block).intersects(pages)) continue;
      if (block == faults.block && faults.faulted.intersects(pages)) continue;  // it comes by itself
      if (block != last && ++blocks > most_blocks_) break;
      last = block;
      const PageIndex begin(unit.value * kPagesPerBigPage);
      if (spans.size() > before && spans.back().end == begin) {
        spans.back().end = begin + PageIndex(kPagesPerBigPage);
      } else {
        spans.push_back({begin, begin + PageIndex(kPagesPerBigPage)});
      }
      --left;
    }
  }

 private:
  std::int64_t units_;
  Future::Position look_;
  bool evicting_;
  std::uint32_t most_blocks_;  // most blocks per fault; a block that recurs in the order counts again
  const Future& future_;
};

}  // namespace

UVMSIM_POLICY(oracle_next, OracleNext);

}  // namespace uvmsim::policy
