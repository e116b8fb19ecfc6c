// SPDX-License-Identifier: Apache-2.0
// Extents and touches as packed numbers; uvmtrace.proto says how.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/common/error.h"
#include "sim/trace/limits.h"
#include "sim/trace/record.h"

namespace uvmsim::trace {

constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

// Appends one list. Numbers is a protobuf RepeatedField<uint64_t>. The extents ascend and stay below kMaxQuantum
// (shape.h).
template <class Numbers>
void pack_extents(const std::vector<Extent>& extents, Numbers& out) {
  std::uint64_t previous_end = 0;
  for (const Extent& extent : extents) {
    out.Add((extent.first - previous_end) << 2 | static_cast<std::uint64_t>(extent.mode));
    out.Add(extent.count);
    previous_end = extent.first + extent.count;
  }
}

// Takes lists from a field that holds one or several.
template <class Numbers>
class ExtentUnpacker {
 public:
  explicit ExtentUnpacker(const Numbers& numbers)
      : next_(numbers.data()), left_(static_cast<std::size_t>(numbers.size()) / 2) {
    if (numbers.size() % 2 != 0) throw_input_error("a list of extents has an odd count of numbers");
  }

  std::size_t left() const { return left_; }

  // The next `count` extents as one list. Throws InputError when there are fewer or when one ends beyond kMaxQuantum.
  // Modes and empty extents are left to check_shape.
  void take(std::size_t count, std::vector<Extent>& out) {
    if (count > left_) throw_input_error("{} extents where {} are left", count, left_);
    left_ -= count;
    out.resize(count);
    std::uint64_t end = 0;
    for (Extent& extent : out) {
      const std::uint64_t gap = next_[0] >> 2, length = next_[1];
      if (gap > kMaxQuantum - end || length > kMaxQuantum - end - gap) {
        throw_input_error("an extent ends beyond quantum 2^60");
      }
      extent = {end + gap, length, static_cast<AccessMode>(next_[0] & 3)};
      end += gap + length;
      next_ += 2;
    }
  }

  // Throws InputError when extents are left that belong to no list.
  void finish() const {
    if (left_ != 0) throw_input_error("{} extents more than their counts say", left_);
  }

 private:
  const std::uint64_t* next_;
  std::size_t left_;
};

// One touch relative to the one before it in the same slot.
inline std::uint64_t pack_touch(std::uint64_t quantum, AccessMode mode, std::uint64_t& previous) {
  const auto difference = static_cast<std::int64_t>(quantum) - static_cast<std::int64_t>(previous);
  previous = quantum;
  return zigzag(difference) << 2 | static_cast<std::uint64_t>(mode);
}

// Throws InputError for a quantum below 0 or from kMaxQuantum on.
inline std::pair<std::uint64_t, AccessMode> unpack_touch(std::uint64_t number, std::uint64_t& previous) {
  const std::int64_t quantum = static_cast<std::int64_t>(previous) + unzigzag(number >> 2);
  if (quantum < 0 || static_cast<std::uint64_t>(quantum) >= kMaxQuantum) {
    throw_input_error("a touch lies at quantum {}; allowed: 0 to 2^60 - 1", quantum);
  }
  previous = static_cast<std::uint64_t>(quantum);
  return {previous, static_cast<AccessMode>(number & 3)};
}

}  // namespace uvmsim::trace
