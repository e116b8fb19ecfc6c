// SPDX-License-Identifier: Apache-2.0
#include "sim/import/access_set.h"

#include <utility>

namespace uvmsim::trace {

void AccessSet::add(ObjectId object, std::uint64_t first, std::uint64_t end, AccessMode mode) {
  if (first < end) modes_[object].add({Quanta(first, end), static_cast<unsigned>(mode)});
}

std::vector<ObjectAccess> AccessSet::take() {
  std::vector<ObjectAccess> accesses;
  for (const auto& [object, modes] : std::exchange(modes_, {})) {
    std::vector<Extent>& extents = accesses.emplace_back(ObjectAccess{object, {}}).extents.edit();
    for (const auto& [quanta, mode] : modes) {
      extents.push_back({quanta.lower(), quanta.upper() - quanta.lower(), static_cast<AccessMode>(mode)});
    }
  }
  return accesses;
}

}  // namespace uvmsim::trace
