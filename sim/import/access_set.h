// SPDX-License-Identifier: Apache-2.0
// The accesses of one kernel, added in any order and returned as the ascending extents of a record.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/trace/record.h"

namespace uvmsim::trace {

class AccessSet {
 public:
  // Adds quanta [first, end) of an object; empty ranges are ignored. Overlapping pieces join their modes.
  void add(ObjectId object, std::uint64_t first, std::uint64_t end, AccessMode mode);
  // Returns the accesses by object id, ascending, and clears the set.
  std::vector<ObjectAccess> take();

 private:
  struct Piece {
    ObjectId object;
    std::uint64_t first, end;
    AccessMode mode;
  };
  static constexpr std::size_t kFewest = 4096;

  std::vector<Piece> pieces_;
  std::size_t join_at_ = kFewest;  // number of pieces at which repeats are joined to save memory
};

}  // namespace uvmsim::trace
