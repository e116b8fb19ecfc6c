// SPDX-License-Identifier: Apache-2.0
// What one kernel touched, put together from pieces in any order: the ascending extents that a record wants.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/trace/record.h"

namespace uvmsim::trace {

class AccessSet {
 public:
  // Quanta [first, end) of an object; empty ranges are ignored. Overlapping pieces join their modes.
  void add(ObjectId object, std::uint64_t first, std::uint64_t end, AccessMode mode);
  // By object id, ascending; the set is empty afterwards.
  std::vector<ObjectAccess> take();

 private:
  struct Piece {
    ObjectId object;
    std::uint64_t first, end;
    AccessMode mode;
  };
  static constexpr std::size_t kFewest = 4096;

  std::vector<Piece> pieces_;
  std::size_t join_at_ = kFewest;  // pieces, so that repeats take no memory
};

}  // namespace uvmsim::trace
