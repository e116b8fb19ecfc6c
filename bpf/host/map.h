// SPDX-License-Identifier: Apache-2.0
// A map of a policy, as in the kernel: a hash (also with least-recently-used eviction) or an array. It has one CPU,
// because a single thread of the driver serves faults. Values keep their address while they are in the map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bpf/host/reserve.h"
#include "bpf/include/uvmsim/program.h"

namespace uvmsim::bpf {

// Numbered as in linux/bpf.h.
enum MapType : unsigned {
  kHash = 1,
  kArray = 2,
  kPerCpuHash = 5,
  kPerCpuArray = 6,
  kLruHash = 9,
  kLruPerCpuHash = 10,
  kRing = 27
};

class Map {
 public:
  // Throws InputError for a type that the simulator lacks.
  explicit Map(const uvmsim_bpf_map& declared);

  const uvmsim_bpf_map& declared() const { return declared_; }
  bool is_array() const;
  bool is_ring() const;

  // Returns the value, or null if there is none. The policy may access it during the call `epoch`.
  std::byte* look_up(const std::byte* key, std::uint32_t epoch);
  // Return 0 or a negative number of errno.h, as in the kernel.
  long update(const std::byte* key, const std::byte* value, std::uint64_t flags);
  long remove(const std::byte* key);
  // Sets the entry of a key, both given as numbers in the byte order of this machine.
  long set(std::uint64_t key, std::uint64_t value);

  // Returns whether the address is in the map's memory, and whether these bytes belong to one value that this call
  // looked up.
  bool holds(const std::byte* address) const { return address >= values_.begin() && address < end_; }
  bool allows(const std::byte* address, std::size_t bytes, std::uint32_t epoch) const;
  std::size_t offset_in_value(const std::byte* address) const {
    return static_cast<std::size_t>(address - values_.begin()) % stride_;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::byte* value(std::uint32_t slot) const { return values_.begin() + slot * stride_; }
  std::byte* key(std::uint32_t slot) { return keys_.data() + std::size_t{slot} * declared_.key_bytes; }
  std::size_t bucket(const std::byte* key) const;
  std::uint32_t find(const std::byte* key);
  void grow();
  void unlink(std::uint32_t slot);
  void use(std::uint32_t slot);

  const uvmsim_bpf_map& declared_;
  std::size_t stride_;
  Reserve values_;
  const std::byte* end_;
  std::vector<std::uint32_t> looked_up_;  // by slot: the call that looked it up last
  // The following are for hashes: chains of slots by bucket, and free slots.
  std::vector<std::byte> keys_;
  std::vector<std::uint32_t> buckets_, next_, free_;
  std::uint32_t slots_ = 0, count_ = 0;
  bool least_recently_used_;
  std::vector<std::uint64_t> last_use_;  // by slot
  std::uint64_t uses_ = 0;
};

}  // namespace uvmsim::bpf
