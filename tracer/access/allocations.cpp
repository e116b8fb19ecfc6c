// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/allocations.h"

#include <utility>

namespace uvmtrace::access {

void Allocations::tell(const Change& change) {
  for (std::vector<Change>& reader : readers_) reader.push_back(change);
}

std::vector<Allocation> Allocations::add(const Allocation& allocation) {
  std::vector<Allocation> replaced;
  if (allocation.bytes == 0 || allocation.va + allocation.bytes < allocation.va) return replaced;
  const std::lock_guard lock(mutex_);
  auto next = live_.lower_bound(allocation.va);
  if (next != live_.begin() && std::prev(next)->second.va + std::prev(next)->second.bytes > allocation.va) --next;
  while (next != live_.end() && next->first < allocation.va + allocation.bytes) {
    tell({next->second.va, next->second.bytes, false});
    replaced.push_back(next->second);
    next = live_.erase(next);
  }
  live_.emplace(allocation.va, allocation);
  tell({allocation.va, allocation.bytes, true});
  return replaced;
}

std::optional<Allocation> Allocations::remove(std::uint64_t va) {
  const std::lock_guard lock(mutex_);
  const auto place = live_.find(va);
  if (place == live_.end()) return std::nullopt;
  const Allocation allocation = place->second;
  live_.erase(place);
  tell({allocation.va, allocation.bytes, false});
  return allocation;
}

std::optional<Allocation> Allocations::find(std::uint64_t address) const {
  const std::lock_guard lock(mutex_);
  auto place = live_.upper_bound(address);
  if (place == live_.begin()) return std::nullopt;
  --place;
  if (address - place->second.va >= place->second.bytes) return std::nullopt;
  return place->second;
}

std::size_t Allocations::add_reader() {
  const std::lock_guard lock(mutex_);
  std::vector<Change>& reader = readers_.emplace_back();
  for (const auto& [va, allocation] : live_) reader.push_back({va, allocation.bytes, true});
  return readers_.size() - 1;
}

std::vector<Change> Allocations::take_changes(std::size_t reader) {
  const std::lock_guard lock(mutex_);
  return std::exchange(readers_[reader], {});
}

}  // namespace uvmtrace::access
