// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/common/error.h"
#include "sim/config/quantity.h"
#include "sim/formats/decimal.h"
#include "sim/formats/did_you_mean.h"

namespace uvmsim::sweep {
namespace {

constexpr std::uint64_t kMaximumOsfThousandths = 1'000'000'000;

}  // namespace

std::uint64_t parse_osf(const std::string& option, const std::string& text) {
  const std::uint64_t thousandths = parse_decimal(text, 3, kMaximumOsfThousandths).value_or(0);
  if (thousandths == 0) {
    throw_input_error(
        "{}: '{}' is no oversubscription factor; allowed: a decimal number above 0, at most {}, with at "
        "most three digits after the point, such as 1.25",
        option, text, kMaximumOsfThousandths / 1000);
  }
  return thousandths;
}

std::vector<std::uint64_t> parse_osf_list(const std::string& option, const std::string& text) {
  std::vector<std::uint64_t> factors;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    factors.push_back(parse_osf(option, text.substr(begin, end - begin)));
    if (std::count(factors.begin(), factors.end(), factors.back()) > 1) {
      throw_input_error("{}: factor {} is given twice", option, text.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  return factors;
}

std::uint64_t parse_size(const std::string& option, const std::string& text) {
  const std::string with_unit = parse_digits(text) ? text + "B" : text;
  const auto size = config::parse_quantity(with_unit, config::Unit::kBytes);
  if (!size.value) {
    throw_input_error("{}: {}; allowed: a number of bytes, or with a unit: {}; such as 12GiB", option, size.problem,
                      config::unit_spellings(config::Unit::kBytes));
  }
  return *size.value;
}

std::uint64_t parse_unsigned(const std::string& option, const std::string& text) {
  const auto value = parse_digits(text);
  if (!value) throw_input_error("{}: '{}' is no whole number; allowed: 0 to 18446744073709551615", option, text);
  return *value;
}

std::uint64_t parse_iteration_count(const std::string& option, const std::string& text) {
  constexpr std::uint64_t kMost = 1'000'000;
  const auto value = parse_digits(text);
  if (!value || *value == 0 || *value > kMost) {
    throw_input_error("{}: '{}' is no number of iterations; allowed: 1 to {}, recorded, settled", option, text, kMost);
  }
  return *value;
}

void parse_iterations(const std::string& option, const std::optional<std::string>& text, Point& point) {
  point.as_recorded = text == "recorded";
  point.iterations = !text || point.as_recorded || text == "settled" ? 0 : parse_iteration_count(option, *text);
}

std::uint64_t parse_time_scale(const std::string& option, const std::string& text) {
  if (text == "auto") return 0;
  constexpr std::uint64_t kMost = 1000;
  const std::uint64_t millionths = parse_decimal(text, 6, kMost * 1'000'000).value_or(0);
  if (millionths == 0) {
    throw_input_error(
        "{}: '{}' is no time scale; allowed: auto, or a factor above 0, at most {}, with at most six digits "
        "after the point, such as 1.25",
        option, text, kMost);
  }
  return millionths;
}

PolicyChoice parse_policy(const std::string& option, const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  PolicyChoice choice{text.substr(0, colon), {}};
  const auto wrong = [&] {
    throw_input_error("{}: '{}' names no policy; allowed: NAME or NAME:key=value,key=value", option, text);
  };
  if (choice.name.empty()) wrong();
  for (std::size_t begin = colon + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const std::size_t equals = item.find('=');
    if (equals == 0 || equals == std::string::npos) wrong();
    choice.parameters.emplace_back(item.substr(0, equals), item.substr(equals + 1));
    begin = end + 1;
  }
  return choice;
}

bool parse_footprint(const std::string& option, const std::string& text) {
  if (text == "allocated" || text == "touched") return text == "touched";
  throw_input_error("{}: '{}' is no kind of footprint; allowed: allocated, touched", option, text);
}

layout::LayoutChoice parse_layout(const std::string& option, const std::string& text) {
  try {
    return layout::parse_layout(text);
  } catch (const InputError& error) {
    throw_input_error("{}: {}", option, error.what());
  }
}

std::string parse_choice(const std::string& option, const std::string& text, const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), text) == allowed.end()) {
    throw_input_error("{}: '{}' is unknown{}; allowed: {}", option, text, did_you_mean(text, allowed),
                      fmt::join(allowed, ", "));
  }
  return text;
}

}  // namespace uvmsim::sweep
