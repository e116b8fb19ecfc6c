// SPDX-License-Identifier: Apache-2.0
#include "sim/policy/density_tree.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace uvmsim::policy {
namespace {

// Counts the set bits of each 16-bit quarter of a word, that is of each of its four 64 KB units.
constexpr std::uint64_t unit_counts(std::uint64_t word) {
  word -= (word >> 1) & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + ((word >> 2) & 0x3333333333333333u);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
  return (word + (word >> 8)) & 0x001f001f001f001fu;
}

struct Region {
  unsigned first = 0;
  unsigned end = 0;  // one past the last; empty if end <= first
};

// The tree over leaf_count pages; leaf 0 is page `base` of the block.
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

  // Fills nodes from the units up: a node of several units with more than `percent` of its leaves present becomes full,
  // which its ancestors see. Calls f(its leaves) for each node that became full.
  template <class F>
  void fill_dense_nodes(unsigned percent, F&& f) {
    for (unsigned node = kBigPagesPerBlock - 1; node > 0; --node) {
      const auto depth = static_cast<unsigned>(std::bit_width(node)) - 1;
      const unsigned height = kTreeHeight - depth;
      const Region leaves = node_at((node - (1u << depth)) << height, height);
      const unsigned size = leaves.end > leaves.first ? leaves.end - leaves.first : 0;
      counts_[node] = static_cast<std::uint16_t>(counts_[2 * node] + counts_[2 * node + 1]);
      if (counts_[node] < size && counts_[node] * 100u > size * percent) {
        counts_[node] = static_cast<std::uint16_t>(size);
        f(leaves);
      }
    }
  }

  // Returns the leaves of the largest node around the leaf with more than `percent` of its leaves present.
  Region largest_dense_node(unsigned leaf, unsigned percent) const {
    for (unsigned height = kTreeHeight; height >= kUnitHeight; --height) {
      const unsigned index = leaf >> height;
      const Region node = node_at(leaf, height);
      if (counts_[(kPagesPerBlock >> height) + index] * 100u > (node.end - node.first) * percent) return node;
    }
    // The node lies inside a 64 KB unit that was not completed because some of its pages thrash.
    for (unsigned height = kUnitHeight; height-- > 0;) {
      const Region node = node_at(leaf, height);
      const std::uint64_t bits = (leaves_[leaf / 64] >> (node.first % 64)) & ((std::uint64_t{1} << (1u << height)) - 1);
      if (static_cast<unsigned>(std::popcount(bits)) * 100u > (node.end - node.first) * percent) return node;
    }
    return {};
  }

 private:
  static constexpr unsigned kWords = PageMask::kWords;
  static constexpr unsigned kUnitHeight = 4;  // a node of height h has 2^h leaves
  static constexpr unsigned kTreeHeight = 9;

  // Returns the 64 pages from `page` on; pages past the block are clear.
  static std::uint64_t leaves_at(const PageMask& mask, unsigned page) {
    const unsigned w = page / 64;
    const unsigned shift = page % 64;
    const std::uint64_t low = w < kWords ? mask.word(w) : 0;
    if (shift == 0) return low;
    return (low >> shift) | (w + 1 < kWords ? mask.word(w + 1) << (64 - shift) : 0);
  }

  // The right edge is cut to the existing leaves. In a small block, nodes above the root repeat the root.
  Region node_at(unsigned leaf, unsigned height) const {
    const unsigned first = leaf >> height << height;
    return {first, std::min(first + (1u << height), leaf_count_)};
  }

  unsigned leaf_count_;
  std::array<std::uint64_t, kWords> leaves_{};
  // Present leaves of every node of at least one unit: the root is 1, the children of n are 2n and 2n + 1.
  std::array<std::uint16_t, std::size_t{2} * kBigPagesPerBlock> counts_{};
};

}  // namespace

TreeLeaves leaves_under_tree(const FaultedBlock& block) {
  const PageMask whole = PageMask::range(block.first_page, block.end_page - block.first_page);
  const unsigned prefix_shift = block.first_page % kPagesPerBigPage;
  const unsigned first_big_page = (block.first_page + kPagesPerBigPage - 1) / kPagesPerBigPage;
  const bool has_big_page = (first_big_page + 1) * kPagesPerBigPage <= block.end_page;

  TreeLeaves leaves{block.resident | block.faulted, block.first_page - prefix_shift};
  if (has_big_page) {
    PageMask grown = block.faulted.grown_to_big_pages() & whole;
    if (!block.thrashing.empty()) grown -= block.thrashing.grown_to_big_pages();
    leaves.present |= grown;
  } else {
    leaves.base = block.first_page;
    if (block.thrashing.empty()) leaves.present = whole;
  }
  return leaves;
}

PageMask dense_surroundings(const FaultedBlock& block, unsigned threshold, bool cascade) {
  const TreeLeaves under = leaves_under_tree(block);
  const PageMask& present = under.present;
  const unsigned base = under.base;
  const unsigned offset = block.first_page - base;  // leaves before the block's first page, which have no page
  DensityTree tree(present, base, block.end_page - base);
  if (cascade) {
    PageMask filled;
    tree.fill_dense_nodes(threshold, [&](Region leaves) {
      const unsigned first = std::max(base + leaves.first, block.first_page);
      filled.set_range(first, base + leaves.end - first);
    });
    return present | filled;
  }

  const PageMask starts = block.thrashing.empty() ? block.faulted : block.faulted - block.thrashing;
  PageMask pages;
  for (unsigned page = starts.next_set(0); page < kPagesPerBlock;) {
    const Region leaves = tree.largest_dense_node(page - base, threshold);
    // As in the driver: a node that begins before the block's `offset`-th leaf is cut to begin at its offset-th page,
    // which leaves out pages in front of it. This differs from a plain cut only where a block begins inside a unit.
    const unsigned first = leaves.first < offset ? block.first_page + offset : base + leaves.first;
    const unsigned end = base + leaves.end;
    if (first < end) pages.set_range(first, end - first);
    // The other faults inside the node have the same largest node.
    page = starts.next_set(std::max(page + 1, end));
  }
  return pages;
}

}  // namespace uvmsim::policy
