// SPDX-License-Identifier: Apache-2.0
// The program's live allocations, by address: used to recognise pointers in a kernel's parameters, and the kind of
// memory of a free or a copy. May be used from any thread; calls no other code.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string_view>
#include <vector>

namespace uvmtrace {

enum class MemoryKind : std::uint8_t { kDevice, kManaged, kPinned, kPool, kVmm };
std::string_view name(MemoryKind kind);  // as in the log

struct Allocation {
  std::uint64_t va = 0;
  std::uint64_t bytes = 0;
  MemoryKind kind = MemoryKind::kDevice;
};

class LiveAllocations {
 public:
  static LiveAllocations& instance();

  // Returns false if exactly this allocation was there before.
  bool insert(const Allocation& allocation);
  std::optional<Allocation> remove(std::uint64_t va);
  // Removes and returns those that begin in the range, in order.
  std::vector<Allocation> remove_range(std::uint64_t va, std::uint64_t bytes);
  std::optional<Allocation> find(std::uint64_t address) const;
  // Appends those of `words` that lie in an allocation and are not in `found` yet.
  void keep_pointers(const std::vector<std::uint64_t>& words, std::vector<std::uint64_t>& found) const;
  // Tests quickly without a lock: false means that the word is certainly not a pointer.
  bool may_be_pointer(std::uint64_t word) const {
    return word >= lowest_.load(std::memory_order_relaxed) && word < highest_.load(std::memory_order_relaxed);
  }

 private:
  const Allocation* find_locked(std::uint64_t address) const;

  mutable std::shared_mutex mutex_;
  std::map<std::uint64_t, Allocation> by_address_;
  // Bounds of all allocations so far: most words in parameters are small numbers or floats.
  std::atomic<std::uint64_t> lowest_{UINT64_MAX};
  std::atomic<std::uint64_t> highest_{0};
};

}  // namespace uvmtrace
