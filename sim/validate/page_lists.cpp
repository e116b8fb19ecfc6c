// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/page_lists.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

#include "sim/common/random.h"
#include "sim/common/units.h"

namespace uvmsim::validate {

namespace {

constexpr std::uint64_t kWordsPerPage = kBasePageBytes / 4;

// Returns a uniform number in [0, bound).
std::uint64_t draw_below(std::mt19937_64& generator, std::uint64_t bound) {
  auto product = static_cast<WideUnsigned>(generator()) * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < threshold) product = static_cast<WideUnsigned>(generator()) * bound;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

// One draw places two elements: the element i among the first i + 1, the next one among the first i + 2.
void shuffle(std::vector<std::uint64_t>& values, std::mt19937_64& generator) {
  std::size_t i = 1;
  if (values.size() % 2 == 0) {
    std::swap(values[1], values[draw_below(generator, 2)]);
    i = 2;
  }
  for (; i < values.size(); i += 2) {
    const std::uint64_t both = draw_below(generator, (i + 1) * (i + 2));
    std::swap(values[i], values[both / (i + 2)]);
    std::swap(values[i + 1], values[both % (i + 2)]);
  }
}

}  // namespace

std::vector<SparseWord> sparse_words(std::uint64_t blocks, std::uint32_t pages_per_block, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<std::uint64_t> order(blocks);
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, generator);
  std::vector<SparseWord> words;
  words.reserve(blocks * pages_per_block);
  std::vector<std::uint64_t> pages(kPagesPerBlock);
  for (const std::uint64_t block : order) {
    std::iota(pages.begin(), pages.end(), 0);
    for (std::uint64_t k = 0; k < pages_per_block; ++k) {
      std::swap(pages[k], pages[k + generator() % (kPagesPerBlock - k)]);
      const auto word = static_cast<std::uint32_t>(generator() % kWordsPerPage);
      words.push_back({block * kPagesPerBlock + pages[k], word});
    }
  }
  return words;
}

std::vector<std::uint32_t> random_walk(std::uint64_t pages, std::uint64_t share, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint32_t> order;
  order.reserve((pages + share - 1) / share * share);
  for (std::uint64_t first = 0; first < pages; first += share) {
    for (std::uint64_t page = first; page < first + share; ++page) {
      order.push_back(static_cast<std::uint32_t>(std::min(page, pages - 1)));
    }
    for (std::uint64_t i = share; i > 1; --i) std::swap(order[first + i - 1], order[first + random.below(i)]);
  }
  return order;
}

}  // namespace uvmsim::validate
