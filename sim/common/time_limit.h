// SPDX-License-Identifier: Apache-2.0
// The end of simulated time: 2^62 ns, 146 years. Code that advances clocks checks it, so that a time of a trace
// (limits.h: at most half of that) can be added to any time that was reached without wrapping.
#pragma once

#include <cstdint>

#include "sim/common/error.h"
#include "sim/common/units.h"

namespace uvmsim {

inline constexpr Nanoseconds kEndOfTime{std::int64_t{1} << 62};

[[noreturn]] inline void throw_end_of_time() {
  throw_input_error("the simulated time goes beyond 2^62 nanoseconds (146 years)");
}

// Returns `time`. Throws InputError when it is beyond the end, or wrapped.
inline Nanoseconds before_end_of_time(Nanoseconds time) {
  if (static_cast<std::uint64_t>(time.value) > static_cast<std::uint64_t>(kEndOfTime.value)) [[unlikely]] {
    throw_end_of_time();
  }
  return time;
}

// Returns a * b / c with an exact intermediate result; at most the end of time.
inline Nanoseconds share_of_time(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  __extension__ using Wide = unsigned __int128;
  const Wide time = Wide{a} * b / c;
  const auto end = static_cast<std::uint64_t>(kEndOfTime.value);
  return Nanoseconds(static_cast<std::int64_t>(time > end ? end : static_cast<std::uint64_t>(time)));
}

}  // namespace uvmsim
