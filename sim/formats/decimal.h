// SPDX-License-Identifier: Apache-2.0
// Parses numbers as people type them, exactly: digits and a point, without sign, blanks and exponent.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace uvmsim {

// Parses "12"; returns nothing for other characters than digits, and for more than 64 bits.
inline std::optional<std::uint64_t> parse_digits(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Parses "1.25" in units of 10^-places: 1250 with 3 places. Returns nothing for more places, for other text, and for
// values above `most`.
inline std::optional<std::uint64_t> parse_decimal(std::string_view text, std::size_t places, std::uint64_t most) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view fraction = text.substr(std::min(point + 1, text.size()));
  if (point == 0 || point + 1 == text.size() || fraction.size() > places) return std::nullopt;
  std::string digits(text.substr(0, point));
  digits.append(fraction).append(places - fraction.size(), '0');
  const auto value = parse_digits(digits);
  return value && *value <= most ? value : std::nullopt;
}

}  // namespace uvmsim
