// NVIDIA's tree prefetcher: the densest surroundings of every faulted page, up to the whole 2 MB block.
//
// A complete binary tree stands over the pages of the block. A node qualifies when more than `threshold` percent of its
// pages are resident or faulting; a fault brings in its largest qualifying node. Before that every 64 KB unit with a
// fault counts as complete. Source: NVIDIA UVM 580, uvm_perf_prefetch.c.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <unordered_map>

#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

// Set bits of each 16-bit quarter of a word, that is of each of its four 64 KB units.
constexpr std::uint64_t unit_counts(std::uint64_t word) {
  word -= (word >> 1) & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + ((word >> 2) & 0x3333333333333333u);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (word + (word >> 8)) & 0x001f001f001f001fu;
}

struct Region {
  unsigned first = 0;
  unsigned end = 0;  // one past the last; end <= first: nothing
};

// The tree over leaf_count pages, of which leaf 0 is page `base` of the block.
class DensityTree {
 public:
  DensityTree(const PageMask& present, unsigned base, unsigned leaf_count) : leaf_count_(leaf_count) {
    for (unsigned w = 0; w < kWords; ++w) {
      leaves_[w] = leaves_at(present, base + w * 64);
      const std::uint64_t counts = unit_counts(leaves_[w]);
      for (unsigned unit = 0; unit < 4; ++unit) {
        counts_[kBigPagesPerBlock + w * 4 + unit] = static_cast<std::uint16_t>(counts >> (16 * unit));
      }
    }
    for (unsigned node = kBigPagesPerBlock - 1; node > 0; --node) {
      counts_[node] = static_cast<std::uint16_t>(counts_[2 * node] + counts_[2 * node + 1]);
    }
  }

  // Leaves of the largest node around the leaf with more than `percent` of its leaves present.
  Region largest_dense_node(unsigned leaf, unsigned percent) const {
    for (unsigned height = kTreeHeight; height >= kUnitHeight; --height) {
      const unsigned index = leaf >> height;
      const Region node = node_at(leaf, height);
      if (counts_[(kPagesPerBlock >> height) + index] * 100u > (node.end - node.first) * percent) {
        return node;
      }
    }
    // Inside a 64 KB unit that was not completed because pages of it thrash.
    for (unsigned height = kUnitHeight; height-- > 0;) {
      const Region node = node_at(leaf, height);
      const std::uint64_t bits = (leaves_[leaf / 64] >> (node.first % 64)) & ((std::uint64_t{1} << (1u << height)) - 1);
      if (static_cast<unsigned>(std::popcount(bits)) * 100u > (node.end - node.first) * percent) {
        return node;
      }
    }
    return {};
  }

 private:
  static constexpr unsigned kWords = PageMask::kWords;
  static constexpr unsigned kUnitHeight = 4;  // a node of height h has 2^h leaves
  static constexpr unsigned kTreeHeight = 9;

  // The 64 pages from `page` on; those past the block are clear.
  static std::uint64_t leaves_at(const PageMask& mask, unsigned page) {
    const unsigned w = page / 64;
    const unsigned shift = page % 64;
    const std::uint64_t low = w < kWords ? mask.word(w) : 0;
    if (shift == 0) {
      return low;
    }
    return (low >> shift) | (w + 1 < kWords ? mask.word(w + 1) << (64 - shift) : 0);
  }

  // The right edge is cut to the leaves there are. Where the block is small, nodes above the root repeat the root.
  Region node_at(unsigned leaf, unsigned height) const {
    const unsigned first = leaf >> height << height;
    return {first, std::min(first + (1u << height), leaf_count_)};
  }

  unsigned leaf_count_;
  std::array<std::uint64_t, kWords> leaves_{};
  // Present leaves of every node that has at least a unit: the root is 1, the children of n are 2n and 2n + 1.
  std::array<std::uint16_t, std::size_t{2} * kBigPagesPerBlock> counts_{};
};

class Tree final : public Prefetcher {
 public:
  static PolicyInfo info() {
    return {.description = "NVIDIA's density tree: the largest node around a fault that is more than half there",
            .source = "NVIDIA UVM 580, uvm_perf_prefetch.c; Ganguly et al., ISCA 2019"};
  }
  static ParameterTable parameters() {
    return {integer("threshold", 51, {1, 100}, "percent of a node's pages that must be exceeded to fetch all of it"),
            integer("min_faults", 1, {1, 20}, "faulted pages a block needs before it is prefetched at all")};
  }

  explicit Tree(const PolicyContext& context)
      : threshold_(static_cast<unsigned>(context.parameters.integer("threshold"))),
        min_faults_(static_cast<unsigned>(context.parameters.integer("min_faults"))) {}

  PageMask prefetch(const FaultedBlock& block) override {
    if (!has_enough_faults(block)) {
      return {};
    }
    const bool populate_all = block.resident_nowhere && block.destination_is_preferred;
    const PageMask pages =
        populate_all ? PageMask::range(block.first_page, block.end_page - block.first_page) : dense_surroundings(block);
    return pages - block.faulted - block.thrashing;
  }

  void on_freed(BlockIndex block) override { streaks_.erase(block.value); }

  void add_state(StateDigest& digest) const override {
    if (!streaks_.empty()) digest.refuse();
  }

 private:
  // Faulted pages since the block last changed its destination.
  struct Streak {
    bool to_host = false;
    unsigned faults = 0;
  };

  bool has_enough_faults(const FaultedBlock& block) {
    if (min_faults_ <= 1) {
      return true;
    }
    Streak& streak = streaks_[block.block.value];
    if (streak.to_host != block.to_host) {
      streak = {block.to_host, 0};
    }
    streak.faults = std::min(streak.faults + block.faulted.count(), min_faults_);
    return streak.faults >= min_faults_;
  }

  PageMask dense_surroundings(const FaultedBlock& block) const {
    const PageMask whole = PageMask::range(block.first_page, block.end_page - block.first_page);
    const unsigned prefix_shift = block.first_page % kPagesPerBigPage;
    const unsigned first_big_page = (block.first_page + kPagesPerBigPage - 1) / kPagesPerBigPage;
    const bool has_big_page = (first_big_page + 1) * kPagesPerBigPage <= block.end_page;

    PageMask present = block.resident | block.faulted;
    // Leaf 0 is where the first 64 KB unit begins, even if the block begins later; so units and nodes agree.
    unsigned base = block.first_page - prefix_shift;
    if (has_big_page) {
      PageMask grown = block.faulted.grown_to_big_pages() & whole;
      if (!block.thrashing.empty()) {
        grown -= block.thrashing.grown_to_big_pages();
      }
      present |= grown;
    } else {
      base = block.first_page;
      if (block.thrashing.empty()) {
        present = whole;
      }
    }
    const unsigned offset = block.first_page - base;  // leaves without a page before the block's first
    const DensityTree tree(present, base, block.end_page - base);

    const PageMask starts = block.thrashing.empty() ? block.faulted : block.faulted - block.thrashing;
    PageMask pages;
    for (unsigned page = starts.next_set(0); page < kPagesPerBlock;) {
      const Region leaves = tree.largest_dense_node(page - base, threshold_);
      // As in the driver: a node that begins before the block's `offset`-th leaf is cut to begin at its offset-th page,
      // which leaves out pages in front of it. Differs from the plain cut only where a block begins inside a unit.
      const unsigned first = leaves.first < offset ? block.first_page + offset : base + leaves.first;
      const unsigned end = base + leaves.end;
      if (first < end) {
        pages.set_range(first, end - first);
      }
      // Every other fault inside the node has the same largest node.
      page = starts.next_set(std::max(page + 1, end));
    }
    return pages;
  }

  unsigned threshold_;
  unsigned min_faults_;
  std::unordered_map<std::uint64_t, Streak> streaks_;  // only looked up, never walked; empty when min_faults is 1
};

}  // namespace

UVMSIM_POLICY(tree, Tree);

}  // namespace uvmsim::policy
