// SPDX-License-Identifier: Apache-2.0
#include "tracer/timing/live_allocations.h"

#include <algorithm>
#include <iterator>
#include <mutex>

namespace uvmtrace {

std::string_view name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kManaged:
      return "managed";
    case MemoryKind::kPinned:
      return "pinned";
    case MemoryKind::kPool:
      return "pool";
    case MemoryKind::kVmm:
      return "vmm";
    case MemoryKind::kDevice:
      break;
  }
  return "device";
}

LiveAllocations& LiveAllocations::instance() {
  static LiveAllocations* const live = new LiveAllocations;
  return *live;
}

bool LiveAllocations::insert(const Allocation& allocation) {
  const std::unique_lock lock(mutex_);
  if (allocation.va < lowest_) lowest_ = allocation.va;
  if (allocation.va + allocation.bytes > highest_) highest_ = allocation.va + allocation.bytes;
  Allocation& place = by_address_[allocation.va];
  const bool known =
      place.va == allocation.va && place.bytes == allocation.bytes && place.kind == allocation.kind && place.bytes != 0;
  place = allocation;
  return !known;
}

std::optional<Allocation> LiveAllocations::remove(std::uint64_t va) {
  const std::unique_lock lock(mutex_);
  const auto found = by_address_.find(va);
  if (found == by_address_.end()) return std::nullopt;
  const Allocation allocation = found->second;
  by_address_.erase(found);
  return allocation;
}

std::vector<Allocation> LiveAllocations::remove_range(std::uint64_t va, std::uint64_t bytes) {
  const std::unique_lock lock(mutex_);
  std::vector<Allocation> removed;
  auto next = by_address_.lower_bound(va);
  while (next != by_address_.end() && next->first - va < bytes) {
    removed.push_back(next->second);
    next = by_address_.erase(next);
  }
  return removed;
}

const Allocation* LiveAllocations::find_locked(std::uint64_t address) const {
  const auto next = by_address_.upper_bound(address);
  if (next == by_address_.begin()) return nullptr;
  const Allocation& before = std::prev(next)->second;
  return address - before.va < before.bytes ? &before : nullptr;
}

std::optional<Allocation> LiveAllocations::find(std::uint64_t address) const {
  const std::shared_lock lock(mutex_);
  const Allocation* const found = find_locked(address);
  if (found == nullptr) return std::nullopt;
  return *found;
}

void LiveAllocations::keep_pointers(const std::vector<std::uint64_t>& words, std::vector<std::uint64_t>& found) const {
  const std::shared_lock lock(mutex_);
  for (const std::uint64_t word : words) {
    if (find_locked(word) == nullptr) continue;
    if (std::find(found.begin(), found.end(), word) == found.end()) found.push_back(word);
  }
}

}  // namespace uvmtrace
