// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/tolerance.h"

#include <algorithm>

#include "sim/common/error.h"
#include "sim/common/random.h"
#include "sim/common/wildcard.h"
#include "sim/config/quantity.h"
#include "sim/formats/decimal.h"
#include "sim/formats/printable.h"

namespace uvmsim::compare {
namespace {

constexpr std::uint64_t kLargestPercentThousandths = 1'000'000;

}  // namespace

Tolerance Tolerance::parse(std::string_view text, std::string_view metric, const std::string& where) {
  Tolerance tolerance;
  const config::Unit unit = config::unit_by_suffix(metric);
  const auto refuse = [&] {
    const std::string units = config::unit_spellings(unit);
    throw_input_error(
        "{}: '{}' is no tolerance; allowed: exact, a share such as '0.5 %' (0 to 1000 %), or a number{}; "
        "with a + or - before it, a limit of rises or of falls alone",
        where, printable(text), units.empty() ? "" : " with or without a unit of " + units);
  };
  if (text == "exact") return tolerance;
  std::string_view size = text;
  if (text.starts_with('+') || text.starts_with('-')) {
    tolerance.side_ = text.front() == '+' ? Side::kRise : Side::kFall;
    size.remove_prefix(1);
  }
  if (size.ends_with('%')) {
    std::string_view share = size.substr(0, size.size() - 1);
    while (share.ends_with(' ')) share.remove_suffix(1);
    const auto thousandths = parse_decimal(share, 3, kLargestPercentThousandths);
    if (!thousandths) refuse();
    tolerance.percent_thousandths_ = *thousandths;
  } else {
    auto amount = parse_digits(size);
    if (!amount) amount = config::parse_quantity(size, unit).value;
    if (!amount) refuse();
    tolerance.absolute_ = *amount;
  }
  if (!tolerance.exact()) tolerance.text_ = text;
  if (tolerance.one_sided()) tolerance.text_.insert(0, tolerance.side_ == Side::kRise ? "at most " : "at least ");
  return tolerance;
}

bool Tolerance::allows(std::uint64_t expected, std::uint64_t found) const {
  if (side_ == Side::kRise && found <= expected) return true;
  if (side_ == Side::kFall && found >= expected) return true;
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
