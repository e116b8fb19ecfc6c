// SPDX-License-Identifier: Apache-2.0
#include "sim/report/numbers.h"

#include <fmt/format.h>

#include <array>

namespace uvmsim::report {
namespace {

// Returns numerator * scale / denominator, rounded half up, without exceeding 64 bits for any size or time of a
// simulation.
std::uint64_t scaled_ratio(std::uint64_t numerator, std::uint64_t denominator, std::uint64_t scale) {
  if (denominator == 0) return 0;
  // Above 2^50 a remainder times 1000 would overflow; the lost low bits are below the digits shown.
  while (denominator > std::uint64_t{1} << 50) {
    numerator >>= 1;
    denominator >>= 1;
  }
  const std::uint64_t whole = numerator / denominator;
  const std::uint64_t rest = numerator % denominator;
  return whole * scale + (rest * scale + denominator / 2) / denominator;
}

// Removes zeros at the end of a fraction.
std::string shortest(std::string decimal) {
  decimal.erase(decimal.find_last_not_of('0') + 1);
  if (decimal.back() == '.') decimal.pop_back();
  return decimal;
}

}  // namespace

std::uint64_t ratio_thousandths(std::uint64_t numerator, std::uint64_t denominator) {
  return scaled_ratio(numerator, denominator, 1000);
}

std::string format_thousandths(std::uint64_t thousandths) {
  return fmt::format("{}.{:03}", thousandths / 1000, thousandths % 1000);
}

std::string format_signed_thousandths(std::int64_t thousandths) {
  const auto magnitude = static_cast<std::uint64_t>(thousandths);
  return thousandths < 0 ? "-" + format_thousandths(0 - magnitude) : format_thousandths(magnitude);
}

std::string format_factor(std::uint64_t thousandths) { return shortest(format_thousandths(thousandths)); }

std::string format_millionths(std::uint64_t millionths) {
  return shortest(fmt::format("{}.{:06}", millionths / 1000000, millionths % 1000000));
}

std::string format_gib(std::uint64_t bytes) {
  return format_thousandths(scaled_ratio(bytes, std::uint64_t{1} << 30, 1000));
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && (bytes >> (10 * (unit + 1))) != 0) ++unit;
  if (unit == 0) return fmt::format("{} bytes", bytes);
  const std::uint64_t hundredths = scaled_ratio(bytes, std::uint64_t{1} << (10 * unit), 100);
  return fmt::format("{}.{:02} {}", hundredths / 100, hundredths % 100, kUnits[unit]);
}

std::string format_ms(Nanoseconds duration) {
  if (duration.value < 0) return "-" + format_ms(Nanoseconds(-duration.value));
  return format_thousandths(static_cast<std::uint64_t>((duration.value + 500) / 1000));
}

std::string format_count(std::uint64_t count) {
  std::string text = fmt::format("{}", count);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string format_count(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", format_count(count), what, count == 1 ? "" : "s");
}

}  // namespace uvmsim::report
