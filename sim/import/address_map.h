// SPDX-License-Identifier: Apache-2.0
// The live allocations of a recording by their addresses; importers turn addresses into objects with it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/import/access_set.h"
#include "sim/trace/record.h"

namespace uvmsim::trace {

class AddressMap {
 public:
  struct Entry {
    ObjectId id = kNoObject;
    std::uint64_t address = 0, bytes = 0;
  };

  // Adds an allocation; `address + bytes` must not exceed kMaxAddress. Throws InputError for overlaps and empty ones.
  void insert(ObjectId id, std::uint64_t address, std::uint64_t bytes);
  // Adds an allocation without these checks.
  void put(ObjectId id, std::uint64_t address, std::uint64_t bytes) { entries_[address] = {id, address, bytes}; }
  // Removes and returns the allocation that begins at `address`; its id is kNoObject if there is none.
  Entry remove(std::uint64_t address);
  // Returns the allocations that overlap [address, address + bytes), ascending.
  std::vector<Entry> overlapping(std::uint64_t address, std::uint64_t bytes) const;
  // Returns the allocation that holds the address; its id is kNoObject if there is none.
  Entry find(std::uint64_t address) const;

  // Adds the part of [address, address + bytes) that lies in live allocations, in quanta. Returns the bytes outside.
  std::uint64_t add_accesses(std::uint64_t address, std::uint64_t bytes, AccessMode mode, std::uint32_t quantum_bytes,
                             AccessSet& set) const;

  const std::map<std::uint64_t, Entry>& entries() const { return entries_; }

 private:
  std::map<std::uint64_t, Entry> entries_;  // by address
};

}  // namespace uvmsim::trace
