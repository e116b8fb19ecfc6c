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

// Numbers is a protobuf RepeatedField<uint64_t>. The extents ascend and stay below kMaxQuantum (shape.h).
template <class Numbers>
void pack_extents(const std::vector<Extent>& extents, Numbers& out) {
  out.Reserve(static_cast<int>(2 * extents.size()));
  std::uint64_t previous_end = 0;
  for (const Extent& extent : extents) {
    out.AddAlreadyReserved((extent.first - previous_end) << 2 | static_cast<std::uint64_t>(extent.mode));
    out.AddAlreadyReserved(extent.count);
    previous_end = extent.first + extent.count;
  }
}

// Throws InputError for an odd count of numbers or a sum beyond kMaxQuantum. Modes and empty extents are left to
// check_shape.
template <class Numbers>
void unpack_extents(const Numbers& numbers, std::vector<Extent>& out) {
  if (numbers.size() % 2 != 0) {
    throw_input_error("a list of extents has an odd count of numbers");
  }
  out.clear();
  out.reserve(static_cast<std::size_t>(numbers.size()) / 2);
  std::uint64_t end = 0;
  for (int i = 0; i < numbers.size(); i += 2) {
    const std::uint64_t gap = numbers.Get(i) >> 2;
    const std::uint64_t count = numbers.Get(i + 1);
    if (gap > kMaxQuantum - end || count > kMaxQuantum - end - gap) {
      throw_input_error("extent {} ends beyond quantum 2^60", i / 2);
    }
    const std::uint64_t first = end + gap;
    end = first + count;
    out.push_back({first, count, static_cast<AccessMode>(numbers.Get(i) & 3)});
  }
}

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
