// SPDX-License-Identifier: Apache-2.0
#include "sim/import/address_map.h"

#include <algorithm>
#include <iterator>

#include "sim/common/error.h"
#include "sim/trace/limits.h"

namespace uvmsim::trace {

void AddressMap::insert(ObjectId id, std::uint64_t address, std::uint64_t bytes) {
  if (bytes == 0 || bytes > kMaxObjectBytes || address > kMaxAddress - bytes) {
    throw_input_error("an allocation of {} bytes at {}; allowed: 1 to {} bytes below address {}", bytes, address,
                      kMaxObjectBytes, kMaxAddress);
  }
  if (!overlapping(address, bytes).empty()) {
    throw_input_error("an allocation of {} bytes at {} overlaps a live one", bytes, address);
  }
  put(id, address, bytes);
}

AddressMap::Entry AddressMap::remove(std::uint64_t address) {
  const auto found = entries_.find(address);
  if (found == entries_.end()) return {};
  const Entry entry = found->second;
  entries_.erase(found);
  return entry;
}

std::vector<AddressMap::Entry> AddressMap::overlapping(std::uint64_t address, std::uint64_t bytes) const {
  std::vector<Entry> found;
  auto next = entries_.upper_bound(address);
  if (next != entries_.begin() && address - std::prev(next)->first < std::prev(next)->second.bytes) --next;
  for (; next != entries_.end() && (next->first <= address || next->first - address < bytes); ++next) {
    found.push_back(next->second);
  }
  return found;
}

AddressMap::Entry AddressMap::find(std::uint64_t address) const {
  const std::vector<Entry> found = overlapping(address, 1);
  return found.empty() ? Entry{} : found.front();
}

std::uint64_t AddressMap::add_accesses(std::uint64_t address, std::uint64_t bytes, AccessMode mode,
                                       std::uint32_t quantum_bytes, AccessSet& set) const {
  std::uint64_t inside = 0;
  for (const Entry& entry : overlapping(address, bytes)) {
    const std::uint64_t from = std::max(address, entry.address) - entry.address;
    const std::uint64_t to = std::min(address + bytes, entry.address + entry.bytes) - entry.address;
    set.add(entry.id, from / quantum_bytes, (to + quantum_bytes - 1) / quantum_bytes, mode);
    inside += to - from;
  }
  return bytes - inside;
}

}  // namespace uvmsim::trace
