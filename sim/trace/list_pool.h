// SPDX-License-Identifier: Apache-2.0
// Lists in use; kernels with equal lists share them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/trace/phase_list.h"

namespace uvmsim::trace {

std::uint64_t hash_of(const std::vector<Extent>& extents);
std::uint64_t hash_of(const std::vector<Phase>& phases);

template <class Item>
class ListPool {
 public:
  // Returns a list equal to `items`: that of a kernel if one has it, else a new one.
  SharedList<Item> find(const std::vector<Item>& items) {
    if (items.empty()) return {};
    const std::uint64_t hash = hash_of(items);
    const auto [first, end] = lists_.equal_range(hash);
    for (auto at = first; at != end; ++at) {
      SharedList<Item> known;
      known.list_ = at->second.lock();
      if (known.list_ != nullptr && *known.list_ == items) return known;
    }
    if (lists_.size() >= clean_at_) forget_unused();
    SharedList<Item> fresh(items);
    lists_.emplace(hash, fresh.list_);
    return fresh;
  }

 private:
  static constexpr std::size_t kFewest = 1024;

  void forget_unused() {
    std::erase_if(lists_, [](const auto& entry) { return entry.second.expired(); });
    clean_at_ = std::max(kFewest, 2 * lists_.size());
  }

  std::unordered_multimap<std::uint64_t, std::weak_ptr<std::vector<Item>>> lists_;  // by hash
  std::size_t clean_at_ = kFewest;
};
using ExtentPool = ListPool<Extent>;
using PhasePool = ListPool<Phase>;

}  // namespace uvmsim::trace
