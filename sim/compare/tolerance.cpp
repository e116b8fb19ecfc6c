// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/tolerance.h"

#include <algorithm>
#include <charconv>

#include "sim/common/error.h"
#include "sim/common/random.h"
#include "sim/common/wildcard.h"
#include "sim/config/quantity.h"
#include "sim/formats/printable.h"

namespace uvmsim::compare {
namespace {

constexpr std::uint64_t kLargestPercentThousandths = 1'000'000;

bool is_number(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc{} && end == text.data() + text.size();
}

// "2" or "0.5" in thousandths; false when it is none.
bool parse_thousandths(std::string_view text, std::uint64_t& thousandths) {
  const std::size_t point = std::min(text.find('.'), text.size());
  std::uint64_t whole = 0, fraction = 0;
  if (!is_number(text.substr(0, point), whole) || whole > kLargestPercentThousandths) return false;
  if (point < text.size()) {
    std::string digits(text.substr(point + 1));
    if (digits.empty() || digits.size() > 3) return false;
    digits.append(3 - digits.size(), '0');
    if (!is_number(digits, fraction)) return false;
  }
  thousandths = whole * 1000 + fraction;
  return true;
}

}  // namespace

Tolerance Tolerance::parse(std::string_view text, std::string_view metric, const std::string& where) {
  Tolerance tolerance;
  const config::Unit unit = config::unit_by_suffix(metric);
  const auto refuse = [&] {
    const std::string units = config::unit_spellings(unit);
    throw_input_error("{}: '{}' is no tolerance; allowed: exact, a share such as '0.5 %' (0 to 1000 %), or a number{}",
                      where, printable(text), units.empty() ? "" : " with or without a unit of " + units);
  };
  if (text == "exact") return tolerance;
  if (text.ends_with('%')) {
    std::string_view share = text.substr(0, text.size() - 1);
    while (share.ends_with(' ')) share.remove_suffix(1);
    if (!parse_thousandths(share, tolerance.percent_thousandths_) ||
        tolerance.percent_thousandths_ > kLargestPercentThousandths) {
      refuse();
    }
  } else if (!is_number(text, tolerance.absolute_)) {
    const auto amount = config::parse_quantity(text, unit);
    if (!amount.value) refuse();
    tolerance.absolute_ = *amount.value;
  }
  if (!tolerance.exact()) tolerance.text_ = text;
  return tolerance;
}

bool Tolerance::allows(std::uint64_t expected, std::uint64_t found) const {
  const std::uint64_t change = std::max(expected, found) - std::min(expected, found);
  if (change <= absolute_) return true;
  return static_cast<WideUnsigned>(change) * 100'000 <= static_cast<WideUnsigned>(expected) * percent_thousandths_;
}

void Tolerances::add(const std::string& pattern, const std::string& text, const std::string& where) {
  for (const auto& [known, value] : given_) {
    if (known == pattern) throw_input_error("{}: a tolerance of {} is given twice", where, printable(pattern));
  }
  Tolerance::parse(text, pattern, where);
  given_.emplace_back(pattern, text);
}

void Tolerances::add_all(const std::vector<std::string>& texts, const std::string& where) {
  std::vector<std::string> general;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      general.push_back(text);
    } else {
      add(text.substr(0, equals), text.substr(equals + 1), where);
    }
  }
  for (const std::string& text : general) add("*", text, where);
}

Tolerance Tolerances::of(std::string_view metric) const {
  const std::pair<std::string, std::string>* chosen = nullptr;
  for (const auto& candidate : given_) {
    if (candidate.first == metric) {
      chosen = &candidate;
      break;
    }
    if (chosen == nullptr && matches(candidate.first, metric)) chosen = &candidate;
  }
  return chosen == nullptr ? Tolerance() : Tolerance::parse(chosen->second, chosen->first, "tolerance");
}

}  // namespace uvmsim::compare
