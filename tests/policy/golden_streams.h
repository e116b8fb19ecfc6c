// SPDX-License-Identifier: Apache-2.0
// Page streams with published miss counts, and the optimal number of misses.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/policy/page_cache.h"

namespace uvmsim::policy {

using Pages = std::vector<std::uint64_t>;

inline std::uint64_t misses_of(std::string_view evictor, const Pages& pages, std::uint32_t frames,
                               const GivenParameters& given = {}) {
  const PolicyEntry& entry = built_ins()->find(Slot::kEvict, evictor);
  Future future;
  if (entry.wants_future) future = stream_future(pages);
  PageCache cache(entry, given, frames, 1, entry.wants_future ? &future : nullptr);
  for (const std::uint64_t page : pages) cache.access(page);
  return cache.misses();
}

// The seven streams of libcachesim_misses.json: 10,000 accesses to 200 pages each.
inline Pages golden_stream(const std::string& name) {
  std::uint64_t state = 0;
  const auto draw = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
  };
  const auto page = [&](std::uint64_t i) -> std::uint64_t {
    if (name == "uniform") return draw() % 200;
    if (name == "skew4") {
      std::uint64_t least = 200;
      for (int n = 0; n < 4; ++n) least = std::min(least, draw() % 200);
      return least;
    }
    if (name == "cyclic") return i % 200;
    if (name == "zigzag") return i % 398 < 200 ? i % 398 : 398 - i % 398;
    if (name == "scanhot") return i % 4 == 3 ? 40 + i / 4 % 160 : draw() % 40;
    if (name == "phases") return i / 1250 % 4 * 50 + draw() % 50;
    return i % 320 < 180 ? i % 320 % 60 : i % 320 - 120;  // loops
  };
  const std::map<std::string, std::uint64_t> seeds = {{"uniform", 1}, {"skew4", 2}, {"scanhot", 3}, {"phases", 4}};
  if (const auto seed = seeds.find(name); seed != seeds.end()) state = seed->second;
  Pages pages;
  for (std::uint64_t i = 0; i < 10000; ++i) pages.push_back(page(i));
  return pages;
}

// Returns passes over 0 .. count - 1, forwards and backwards in turns.
inline Pages cyclic(std::uint64_t count, int passes) {
  Pages pages;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::uint64_t page = 0; page < count; ++page) pages.push_back(page);
  }
  return pages;
}
inline Pages zigzag(std::uint64_t count, int passes) {
  Pages pages = cyclic(count, passes);
  for (int pass = 1; pass < passes; pass += 2) {
    const auto begin = pages.begin() + static_cast<std::ptrdiff_t>(count) * pass;
    std::reverse(begin, begin + static_cast<std::ptrdiff_t>(count));
  }
  return pages;
}

// Returns the misses of Belady's MIN, which evicts the page whose next use is furthest away.
inline std::uint64_t optimal_misses(const Pages& pages, std::size_t frames) {
  const std::uint64_t never = pages.size();
  std::vector<std::uint64_t> next(pages.size(), never);
  std::unordered_map<std::uint64_t, std::uint64_t> seen;
  for (std::uint64_t i = pages.size(); i-- > 0;) {
    if (const auto found = seen.find(pages[i]); found != seen.end()) next[i] = found->second;
    seen[pages[i]] = i;
  }
  std::map<std::uint64_t, std::uint64_t> cached;  // page -> next use
  std::uint64_t misses = 0;
  for (std::uint64_t i = 0; i < pages.size(); ++i) {
    if (cached.count(pages[i]) == 0) {
      ++misses;
      if (cached.size() == frames) {
        cached.erase(std::max_element(cached.begin(), cached.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; }));
      }
    }
    cached[pages[i]] = next[i];
  }
  return misses;
}

}  // namespace uvmsim::policy
