// SPDX-License-Identifier: Apache-2.0
// Formats integers without floating point: the same digits on every machine, rounded half up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/common/units.h"

namespace uvmsim::report {

// Returns numerator / denominator in thousandths; 0 when the denominator is 0.
std::uint64_t ratio_thousandths(std::uint64_t numerator, std::uint64_t denominator);

// 1250 -> "1.250"
std::string format_thousandths(std::uint64_t thousandths);
std::string format_signed_thousandths(std::int64_t thousandths);
// 1250 -> "1.25", 2000 -> "2": the shortest form, as a user would type it.
std::string format_factor(std::uint64_t thousandths);
// The same for millionths.
std::string format_millionths(std::uint64_t millionths);
// 1610612736 -> "1.500": GiB, for a column whose header names the unit.
std::string format_gib(std::uint64_t bytes);
// 6291456 -> "6.00 MiB": the largest binary unit that leaves at least 1.
std::string format_bytes(std::uint64_t bytes);
// 2103456789 -> "2103.457": milliseconds, for a column whose header names the unit.
std::string format_ms(Nanoseconds duration);
inline std::string format_ms(std::uint64_t ns) { return format_ms(Nanoseconds(static_cast<std::int64_t>(ns))); }
// 1234567 -> "1,234,567"
std::string format_count(std::uint64_t count);
// 2, "point" -> "2 points"
std::string format_count(std::uint64_t count, std::string_view what);
// 1500 -> "1.500": microseconds with all nanoseconds, as trace viewers expect them.
inline std::string format_us(Nanoseconds time) { return format_signed_thousandths(time.value); }

}  // namespace uvmsim::report
