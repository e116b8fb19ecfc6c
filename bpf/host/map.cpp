// SPDX-License-Identifier: Apache-2.0
#include "bpf/host/map.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/common/error.h"

namespace uvmsim::bpf {
namespace {

enum Flags : std::uint64_t { kAny = 0, kNoExist = 1, kExist = 2 };

constexpr std::size_t kApart = 16;  // bytes between two values, which belong to neither
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 30;

std::size_t stride_of(const uvmsim_bpf_map& map) { return (std::size_t{map.value_bytes} + 7) / 8 * 8 + kApart; }

std::size_t bytes_of(const uvmsim_bpf_map& map) {
  switch (map.type) {
    case kHash:
    case kArray:
    case kPerCpuHash:
    case kPerCpuArray:
    case kLruHash:
    case kLruPerCpuHash:
      break;
    case kRing:
      return 0;
    default:
      throw_input_error("map '{}': there are no maps of type {}; allowed: HASH, ARRAY, LRU_HASH, those per CPU, RINGBUF",
                        map.name, map.type);
  }
  const std::uint64_t bytes = std::uint64_t{map.max_entries} * stride_of(map);
  const bool array = map.type == kArray || map.type == kPerCpuArray;
  if (map.max_entries == 0 || map.key_bytes == 0 || map.value_bytes == 0 || (array && map.key_bytes != 4) ||
      bytes > kMostBytes) {
    throw_input_error("map '{}': {} entries with keys of {} and values of {} bytes; allowed: at least one entry, keys "
                      "of 4 bytes in an array, 16 GiB in all",
                      map.name, map.max_entries, map.key_bytes, map.value_bytes);
  }
  return bytes;
}

}  // namespace

Map::Map(const uvmsim_bpf_map& declared)
    : declared_(declared),
      stride_(stride_of(declared)),
      values_(bytes_of(declared)),
      end_(values_.begin() + bytes_of(declared)),
      least_recently_used_(declared.type == kLruHash || declared.type == kLruPerCpuHash) {
  if (is_array()) looked_up_.resize(declared.max_entries);
}

bool Map::is_array() const { return declared_.type == kArray || declared_.type == kPerCpuArray; }
bool Map::is_ring() const { return declared_.type == kRing; }

std::size_t Map::bucket(const std::byte* key) const {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (std::size_t i = 0; i < declared_.key_bytes; ++i) {
    hash = (hash ^ static_cast<std::uint64_t>(key[i])) * 0x100000001b3u;
  }
  return (hash ^ hash >> 29) & (buckets_.size() - 1);
}

std::uint32_t Map::find(const std::byte* wanted) {
  if (is_array()) {
    std::uint32_t index = 0;
    std::memcpy(&index, wanted, sizeof index);
    return index < declared_.max_entries ? index : kNone;
  }
  if (buckets_.empty()) return kNone;
  std::uint32_t slot = buckets_[bucket(wanted)];
  while (slot != kNone && std::memcmp(key(slot), wanted, declared_.key_bytes) != 0) slot = next_[slot];
  return slot;
}

std::byte* Map::look_up(const std::byte* wanted, std::uint32_t epoch) {
  const std::uint32_t slot = find(wanted);
  if (slot == kNone) return nullptr;
  use(slot);
  looked_up_[slot] = epoch;
  return value(slot);
}

void Map::use(std::uint32_t slot) {
  if (least_recently_used_) last_use_[slot] = ++uses_;
}

void Map::grow() {
  buckets_.assign(std::max<std::size_t>(64, buckets_.size() * 2), kNone);
  std::vector<bool> free(slots_);
  for (const std::uint32_t slot : free_) free[slot] = true;
  for (std::uint32_t slot = 0; slot < slots_; ++slot) {
    if (free[slot]) continue;
    std::uint32_t& first = buckets_[bucket(key(slot))];
    next_[slot] = first;
    first = slot;
  }
}

long Map::update(const std::byte* wanted, const std::byte* data, std::uint64_t flags) {
  if (flags > kExist) return -EINVAL;
  std::uint32_t slot = find(wanted);
  if (is_array()) {
    if (slot == kNone) return -E2BIG;
    if (flags == kNoExist) return -EEXIST;
  } else {
    if (slot != kNone && flags == kNoExist) return -EEXIST;
    if (slot == kNone && flags == kExist) return -ENOENT;
    if (slot == kNone) {
      if (count_ == declared_.max_entries) {
        if (!least_recently_used_) return -E2BIG;
        std::uint32_t oldest = 0;
        for (std::uint32_t other = 0; other < slots_; ++other) {
          if (last_use_[other] < last_use_[oldest]) oldest = other;
        }
        unlink(oldest);
      }
      if (count_ >= buckets_.size()) grow();
      if (free_.empty()) {
        slot = slots_++;
        keys_.resize(std::size_t{slots_} * declared_.key_bytes);
        next_.resize(slots_);
        looked_up_.resize(slots_);
        if (least_recently_used_) last_use_.resize(slots_);
      } else {
        slot = free_.back();
        free_.pop_back();
      }
      std::memcpy(key(slot), wanted, declared_.key_bytes);
      std::uint32_t& first = buckets_[bucket(wanted)];
      next_[slot] = first;
      first = slot;
      ++count_;
    }
    use(slot);
  }
  std::memcpy(value(slot), data, declared_.value_bytes);
  return 0;
}

// The slot's value stays as it is until the slot is taken again, as in the kernel.
void Map::unlink(std::uint32_t slot) {
  std::uint32_t* link = &buckets_[bucket(key(slot))];
  while (*link != slot) link = &next_[*link];
  *link = next_[slot];
  free_.push_back(slot);
  --count_;
}

long Map::remove(const std::byte* wanted) {
  if (is_array()) return -EINVAL;
  const std::uint32_t slot = find(wanted);
  if (slot == kNone) return -ENOENT;
  unlink(slot);
  return 0;
}

long Map::set(std::uint64_t key_number, std::uint64_t value_number) {
  std::vector<std::byte> key_bytes(std::max<std::size_t>(declared_.key_bytes, sizeof key_number));
  std::vector<std::byte> value_bytes(std::max<std::size_t>(declared_.value_bytes, sizeof value_number));
  std::memcpy(key_bytes.data(), &key_number, sizeof key_number);
  std::memcpy(value_bytes.data(), &value_number, sizeof value_number);
  return update(key_bytes.data(), value_bytes.data(), kAny);
}

bool Map::allows(const std::byte* address, std::size_t bytes, std::uint32_t epoch) const {
  const auto from_begin = static_cast<std::size_t>(address - values_.begin());
  const std::size_t slot = from_begin / stride_;
  return slot < looked_up_.size() && looked_up_[slot] == epoch && from_begin % stride_ + bytes <= declared_.value_bytes;
}

}  // namespace uvmsim::bpf
