// SPDX-License-Identifier: Apache-2.0
#include "sim/config/quantity.h"

#include <fmt/format.h>

#include <limits>
#include <span>

#include "sim/formats/printable.h"

namespace uvmsim::config {
namespace {

struct Spelling {
  std::string_view text;
  std::uint64_t factor;  // base units per unit
};

constexpr std::uint64_t kKibi = 1024;
constexpr std::uint64_t kMebi = kKibi * kKibi;
constexpr std::uint64_t kGibi = kMebi * kKibi;
constexpr std::uint64_t kTebi = kGibi * kKibi;
constexpr std::uint64_t kMega = 1000000;

constexpr Spelling kPercentSpellings[] = {{"%", 1}};
constexpr Spelling kTimeSpellings[] = {{"ns", 1}, {"us", 1000}, {"ms", kMega}, {"s", 1000 * kMega}};
constexpr Spelling kPerGibSpellings[] = {{"ns/GiB", 1}, {"us/GiB", 1000}, {"ms/GiB", kMega}};
constexpr Spelling kPerMibSpellings[] = {{"ns/MiB", 1}, {"us/MiB", 1000}, {"ms/MiB", kMega}};
constexpr Spelling kSizeSpellings[] = {{"B", 1},       {"KiB", kKibi},       {"MiB", kMebi},
                                       {"GiB", kGibi}, {"TiB", kTebi},       {"kB", 1000},
                                       {"MB", kMega},  {"GB", 1000 * kMega}, {"TB", kMega* kMega}};
constexpr Spelling kBandwidthSpellings[] = {{"MB/s", 1}, {"GB/s", 1000}, {"TB/s", kMega}};
constexpr Spelling kFlopsSpellings[] = {{"MFLOPS", 1}, {"GFLOPS", 1000}, {"TFLOPS", kMega}};
constexpr Spelling kFrequencySpellings[] = {{"kHz", 1}, {"MHz", 1000}, {"GHz", kMega}};

struct UnitInfo {
  std::string_view name;
  std::span<const Spelling> spellings;
};
constexpr UnitInfo kUnits[] = {
    // In the order of Unit.
    {"", {}},
    {"%", kPercentSpellings},
    {"ns", kTimeSpellings},
    {"ns/GiB", kPerGibSpellings},
    {"ns/MiB", kPerMibSpellings},
    {"bytes", kSizeSpellings},
    {"bytes/us", kBandwidthSpellings},
    {"flops/us", kFlopsSpellings},
    {"kHz", kFrequencySpellings},
};
constexpr const UnitInfo& info_of(Unit unit) { return kUnits[static_cast<std::size_t>(unit)]; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// digits * 10^-decimals, before the unit
struct Decimal {
  std::uint64_t digits = 0;
  unsigned decimals = 0;
  std::size_t length = 0;  // characters of the number; 0 = not a number
};

constexpr unsigned kMostDigits = 18;  // fits 64 bits

Decimal read_decimal(std::string_view text) {
  Decimal decimal;
  std::size_t at = 0;
  unsigned count = 0;
  bool after_point = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !after_point && count > 0) {
      after_point = true;
      continue;
    }
    if (!is_digit(c)) break;
    if (++count > kMostDigits) return {};
    decimal.digits = decimal.digits * 10 + static_cast<std::uint64_t>(c - '0');
    decimal.decimals += after_point ? 1 : 0;
  }
  const bool ends_in_point = at > 0 && text[at - 1] == '.';
  decimal.length = count == 0 || ends_in_point ? 0 : at;
  return decimal;
}

ParsedQuantity scaled(std::string_view text, const Decimal& decimal, std::uint64_t factor, Unit unit) {
  if (decimal.digits > std::numeric_limits<std::uint64_t>::max() / factor) {
    return {std::nullopt, fmt::format("'{}' is larger than 64 bits hold", printable(text))};
  }
  std::uint64_t value = decimal.digits * factor;
  for (unsigned i = 0; i < decimal.decimals; ++i) {
    if (value % 10 != 0) {
      const std::string_view base = unit == Unit::kCount ? "" : unit_name(unit);
      return {std::nullopt,
              fmt::format("'{}' is not a whole number{}{}", printable(text), base.empty() ? "" : " of ", base)};
    }
    value /= 10;
  }
  return {value, ""};
}

}  // namespace

std::string_view unit_name(Unit unit) { return info_of(unit).name; }

std::string unit_spellings(Unit unit) {
  std::string list;
  for (const Spelling& spelling : info_of(unit).spellings) {
    list += list.empty() ? "" : ", ";
    list += spelling.text;
  }
  return list;
}

ParsedQuantity parse_quantity(std::string_view text, Unit unit) {
  const Decimal decimal = read_decimal(text);
  if (decimal.length == 0) return {std::nullopt, fmt::format("'{}' is not a number", printable(text))};
  std::string_view suffix = text.substr(decimal.length);
  if (suffix.starts_with(' ')) suffix.remove_prefix(1);
  if (unit == Unit::kCount && suffix.empty()) return scaled(text, decimal, 1, unit);
  for (const Spelling& spelling : info_of(unit).spellings) {
    if (spelling.text == suffix) return scaled(text, decimal, spelling.factor, unit);
  }
  if (suffix.empty()) return {std::nullopt, fmt::format("'{}' has no unit", printable(text))};
  return {std::nullopt, fmt::format("'{}' has the unit '{}'", printable(text), printable(suffix))};
}

}  // namespace uvmsim::config
