// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/change.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/common/random.h"

namespace uvmsim::compare {
namespace {

constexpr std::uint64_t kLargest = 1'000'000'000'000'000;

// Returns |to - from| / from * scale, rounded half up; `from` is not 0.
std::uint64_t scaled_change(std::uint64_t from, std::uint64_t to, std::uint64_t scale) {
  const WideUnsigned change = std::max(from, to) - std::min(from, to);
  const WideUnsigned scaled = (change * scale * 2 + from) / (static_cast<WideUnsigned>(from) * 2);
  return scaled > kLargest ? kLargest : static_cast<std::uint64_t>(scaled);
}

}  // namespace

std::optional<std::int64_t> change_percent_thousandths(std::uint64_t from, std::uint64_t to) {
  if (from == 0) return std::nullopt;
  const auto magnitude = static_cast<std::int64_t>(scaled_change(from, to, 100'000));
  return to < from ? -magnitude : magnitude;
}

std::string change_text(std::uint64_t from, std::uint64_t to) {
  if (from == to) return "0.00 %";
  if (from == 0) return "from 0";
  const std::uint64_t hundredths = scaled_change(from, to, 10'000);
  return fmt::format("{}{}.{:02} %", to < from ? "-" : "+", hundredths / 100, hundredths % 100);
}

std::string change_text(std::optional<std::uint64_t> from, std::optional<std::uint64_t> to) {
  if (!from) return "only in b";
  if (!to) return "only in a";
  return change_text(*from, *to);
}

}  // namespace uvmsim::compare
