// SPDX-License-Identifier: Apache-2.0
// Block-ahead prefetching: the driver's tree within the 2 MB block, and the next blocks after a dense block.
#include <vector>

#include "sim/policy/density_tree.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

// Only the abstract of the published prefetcher is public: dense blocks fetch their neighbours. The definition of dense
// and the choice of neighbours are this project's.
class BlockAhead final : public Prefetcher {
 public:
  static PolicyInfo info() {
    return {.description = "the tree within the block; a block that is nearly full brings the next ones",
            .source = "after block-aware prefetching, J. Systems Architecture 162 (2025), whose rule is not public"};
  }
  static ParameterTable parameters() {
    return {integer("blocks", 2, {1, 8}, "2 MB blocks that come with a dense one"),
            integer("density", 75, {1, 100}, "percent of a block that must be there, with what comes now"),
            integer("threshold", 51, {1, 100}, "within the block, as for `tree`")};
  }

  explicit BlockAhead(const PolicyContext& context)
      : blocks_(static_cast<std::uint64_t>(context.parameters.integer("blocks"))),
        density_(static_cast<unsigned>(context.parameters.integer("density"))),
        threshold_(static_cast<unsigned>(context.parameters.integer("threshold"))),
        last_(kAllocations) {}

  PageMask prefetch(const FaultedBlock& block) override {
    const PageMask pages = dense_surroundings(block, threshold_, false) - block.faulted - block.thrashing;
    const unsigned there = (pages | block.resident | block.faulted).count();
    dense_ = there * 100 >= density_ * (block.end_page - block.first_page);
    return pages;
  }

  void prefetch_beyond(const FaultedBlock& block, const PrefetchQueries&, std::vector<PageSpan>& spans) override {
    const std::uint64_t first = block.allocation.first.value / kPagesPerBlock;
    const std::uint64_t end = block.allocation.end.value / kPagesPerBlock;
    // The direction of the walk through the allocation follows from the block that faulted before this one.
    Walk& walk = last_[static_cast<std::size_t>(first) % kAllocations];
    const std::uint64_t here = block.block.value;
    if (walk.allocation != first) walk = {first, here, false};
    if (walk.block != here) walk.down = walk.block > here;
    walk.block = here;
    if (!dense_) return;
    for (std::uint64_t step = 1; step <= blocks_; ++step) {
      if (walk.down ? here < first + step : here + step >= end) return;
      const std::uint64_t wanted = walk.down ? here - step : here + step;
      spans.push_back({PageIndex(wanted * kPagesPerBlock), PageIndex((wanted + 1) * kPagesPerBlock)});
    }
  }

 private:
  static constexpr std::size_t kAllocations = 256;
  struct Walk {
    std::uint64_t allocation = ~std::uint64_t{0};  // by its first block
    std::uint64_t block = 0;
    bool down = false;
  };

  std::uint64_t blocks_;
  unsigned density_, threshold_;
  bool dense_ = false;  // whether the last block of prefetch() was dense
  std::vector<Walk> last_;
};

}  // namespace

UVMSIM_POLICY(block_ahead, BlockAhead);

}  // namespace uvmsim::policy
