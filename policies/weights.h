// SPDX-License-Identifier: Apache-2.0
// Weights of learned policies: built in, or from a file of the user's, which is checked before use.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/common/error.h"
#include "sim/policy/parameters.h"

namespace uvmsim::policy {

inline constexpr std::int32_t kLargestWeight = 1 << 20;

// Reads as many integers as there are built-in ones, one per line. Throws InputError that names the line.
inline std::vector<std::int32_t> weights_of(const Parameters& parameters, std::string_view name,
                                            std::span<const std::int32_t> built_in) {
  const std::string* const file = parameters.file(name);
  if (file == nullptr) return {built_in.begin(), built_in.end()};
  std::vector<std::int32_t> weights;
  std::string_view rest = *file;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::int32_t weight = 0;
    const auto [stopped, error] = std::from_chars(line.data(), line.data() + line.size(), weight);
    if (error != std::errc{} || stopped != line.data() + line.size() || weight < -kLargestWeight ||
        weight > kLargestWeight) {
      throw_input_error("parameter '{}': line {} is no weight; allowed: a whole number from {} to {}", name,
                        weights.size() + 1, -kLargestWeight, kLargestWeight);
    }
    if (weights.size() == built_in.size()) {
      throw_input_error("parameter '{}': more than {} lines; allowed: {}", name, built_in.size(), built_in.size());
    }
    weights.push_back(weight);
  }
  if (weights.size() != built_in.size()) {
    throw_input_error("parameter '{}': {} lines; allowed: {}", name, weights.size(), built_in.size());
  }
  return weights;
}

}  // namespace uvmsim::policy
