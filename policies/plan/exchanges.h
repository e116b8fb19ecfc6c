// SPDX-License-Identifier: Apache-2.0
// The replacements of Belady's MIN over the kernels of a program, for a given number of chunks: the fewest fetches.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/policy/planner.h"

namespace uvmsim::policy {

struct Exchange {
  BlockIndex in;
  std::uint64_t needed = 0;  // by this kernel
  bool replaces = false;     // false: there was room
  BlockIndex out;
  std::uint64_t free_after = 0;  // when this many kernels have ended, `out` is not used before `in`
};

// `kernels` holds the blocks of each kernel, each once. The uses of one kernel are simultaneous: none of its blocks is
// evicted for another of them, unless the kernel needs more memory than there is.
inline std::vector<Exchange> min_exchanges(const std::vector<std::vector<BlockIndex>>& kernels, std::uint64_t chunks) {
  constexpr std::uint64_t kNever = ~std::uint64_t{0};
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> uses;  // by block, the latest first
  for (std::uint64_t k = kernels.size(); k-- > 0;) {
    for (const BlockIndex b : kernels[k]) uses[b.value].push_back(k);
  }
  struct Held {
    std::uint64_t next = 0;   // use
    std::uint64_t after = 0;  // one past the last use
  };
  std::unordered_map<std::uint64_t, Held> held;               // by block
  std::set<std::pair<std::uint64_t, std::uint64_t>> by_next;  // next use, block
  std::vector<Exchange> exchanges;
  for (std::uint64_t k = 0; k < kernels.size(); ++k) {
    // While the kernel runs, all its blocks count as in use.
    for (const BlockIndex b : kernels[k]) {
      if (const auto here = held.find(b.value); here != held.end()) here->second.after = k + 1;
    }
    for (const BlockIndex b : kernels[k]) {
      if (held.contains(b.value)) continue;
      Exchange exchange{b, k, false, {}, 0};
      if (held.size() == chunks) {
        const auto [next, out] = *by_next.rbegin();
        exchange.replaces = true;
        exchange.out = BlockIndex(out);
        exchange.free_after = held.at(out).after;
        by_next.erase({next, out});
        held.erase(out);
      }
      exchanges.push_back(exchange);
      held[b.value] = {k, k + 1};
      by_next.insert({k, b.value});
    }
    for (const BlockIndex b : kernels[k]) {
      std::vector<std::uint64_t>& rest = uses[b.value];
      rest.pop_back();
      const auto here = held.find(b.value);
      if (here == held.end()) continue;  // the kernel is larger than memory
      by_next.erase({here->second.next, b.value});
      here->second.next = rest.empty() ? kNever : rest.back();
      by_next.insert({here->second.next, b.value});
    }
  }
  return exchanges;
}

}  // namespace uvmsim::policy
