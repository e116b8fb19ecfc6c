// SPDX-License-Identifier: Apache-2.0
// What one kernel touched, put together from pieces in any order: the ascending extents that a record wants.
#pragma once

#include <boost/icl/interval_map.hpp>
#include <boost/icl/right_open_interval.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "sim/trace/record.h"

namespace uvmsim::trace {

class AccessSet {
 public:
  // Quanta [first, end) of an object; empty ranges are ignored. Overlapping pieces join their modes.
  void add(ObjectId object, std::uint64_t first, std::uint64_t end, AccessMode mode);
  bool empty() const { return modes_.empty(); }

  // By object id, ascending; the set is empty afterwards.
  std::vector<ObjectAccess> take();

 private:
  using Quanta = boost::icl::right_open_interval<std::uint64_t>;
  // Bits of AccessMode; where pieces overlap both, and equal neighbours are one.
  using Modes = boost::icl::interval_map<std::uint64_t, unsigned, boost::icl::partial_absorber, std::less,
                                         boost::icl::inplace_bit_add, boost::icl::inter_section, Quanta>;

  std::map<ObjectId, Modes> modes_;
};

}  // namespace uvmsim::trace
