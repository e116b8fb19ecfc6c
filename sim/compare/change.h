// SPDX-License-Identifier: Apache-2.0
// The change of a number in percent, without floating point.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace uvmsim::compare {

// (to - from) / from in thousandths of a percent, rounded half away from zero; nothing when `from` is 0. Limited to
// 10^15.
std::optional<std::int64_t> change_percent_thousandths(std::uint64_t from, std::uint64_t to);

// "+3.20 %", "-100.00 %", "0.00 %"; "+0.00 %" and "-0.00 %" are changes too small to show; "from 0" has no percentage.
std::string change_text(std::uint64_t from, std::uint64_t to);
// One of the two numbers may be missing: "only in a", "only in b".
std::string change_text(std::optional<std::uint64_t> from, std::optional<std::uint64_t> to);

}  // namespace uvmsim::compare
