// SPDX-License-Identifier: Apache-2.0
// Strong types for time, sizes and pages. Mixing them requires an explicit conversion.
#pragma once

#include <compare>
#include <cstdint>

namespace uvmsim {

// An integer that can be combined only with its own kind. Arithmetic stays inside the type; `.value` leaves it.
template <class Tag, class Rep>
struct Quantity {
  using rep = Rep;
  Rep value{};

  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep v) : value(v) {}
  constexpr auto operator<=>(const Quantity&) const = default;

  constexpr Quantity operator+(Quantity o) const { return Quantity(static_cast<Rep>(value + o.value)); }
  constexpr Quantity operator-(Quantity o) const { return Quantity(static_cast<Rep>(value - o.value)); }
  constexpr Quantity operator*(Rep k) const { return Quantity(static_cast<Rep>(value * k)); }
  constexpr Quantity operator/(Rep k) const { return Quantity(static_cast<Rep>(value / k)); }
  constexpr Rep operator/(Quantity o) const { return static_cast<Rep>(value / o.value); }
  constexpr Quantity& operator+=(Quantity o) {
    value = static_cast<Rep>(value + o.value);
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    value = static_cast<Rep>(value - o.value);
    return *this;
  }
  constexpr Quantity& operator++() {
    ++value;
    return *this;
  }
};

using Nanoseconds = Quantity<struct NanosecondsTag, std::int64_t>;
using Bytes = Quantity<struct BytesTag, std::uint64_t>;
// Index of a 4 KB page in the simulated address space: virtual address >> 12.
using PageIndex = Quantity<struct PageIndexTag, std::uint64_t>;
// Index of a 2 MB VA block: virtual address >> 21.
using BlockIndex = Quantity<struct BlockIndexTag, std::uint64_t>;

inline constexpr std::uint64_t kBasePageBytes = 4096;
inline constexpr std::uint64_t kBigPageBytes = 65536;
inline constexpr std::uint64_t kBlockBytes = 2u << 20;
inline constexpr unsigned kPagesPerBigPage = 16;
inline constexpr unsigned kPagesPerBlock = 512;
inline constexpr unsigned kBigPagesPerBlock = 32;

constexpr Nanoseconds nanoseconds(std::int64_t n) { return Nanoseconds(n); }
constexpr Nanoseconds microseconds(std::int64_t n) { return Nanoseconds(n * 1000); }

}  // namespace uvmsim
