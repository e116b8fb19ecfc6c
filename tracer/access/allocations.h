// SPDX-License-Identifier: Apache-2.0
// The program's allocations, and the changes that each context's table has not received yet. Thread-safe: allocations
// happen during another thread's launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace uvmtrace::access {

struct Allocation {
  std::uint64_t va = 0;
  std::uint64_t bytes = 0;
  const char* kind = "";  // as in the event log; static
};

// A range that was allocated or freed.
struct Change {
  std::uint64_t va = 0;
  std::uint64_t bytes = 0;
  bool added = false;
};

class Allocations {
 public:
  // Removes and returns allocations that overlap: the program freed them without a recorded call.
  std::vector<Allocation> add(const Allocation& allocation);
  // Removes and returns the allocation at exactly this address.
  std::optional<Allocation> remove(std::uint64_t va);
  // Returns the live allocation that contains the address.
  std::optional<Allocation> find(std::uint64_t address) const;

  // Adds a reader of changes, which first gets everything that is live. Readers live as long as the process.
  std::size_t add_reader();
  std::vector<Change> take_changes(std::size_t reader);

 private:
  void tell(const Change& change);

  mutable std::mutex mutex_;
  std::map<std::uint64_t, Allocation> live_;
  std::vector<std::vector<Change>> readers_;
};

}  // namespace uvmtrace::access
