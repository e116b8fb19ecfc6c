// SPDX-License-Identifier: Apache-2.0
// Counters of iterations that are counted, not replayed, do not wrap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/common/error.h"
#include "sim/events/counters.h"

namespace uvmsim::engine {

// Throws InputError where sum + times * part is more than a column of a database holds.
inline void check_counts(const Counters& sum, const Counters& part, std::uint64_t times) {
  std::vector<std::uint64_t> parts;
  for_each_counter(part, [&](const char*, const std::uint64_t& value) { parts.push_back(value); });
  std::size_t number = 0;
  for_each_counter(sum, [&](const char* name, const std::uint64_t& value) {
    const std::uint64_t each = parts[number++];
    if (each == 0 || times <= (INT64_MAX - std::min<std::uint64_t>(value, INT64_MAX)) / each) return;
    throw_input_error("the counter {} goes beyond 2^63 in {} more repetitions of {} each; allowed: fewer iterations",
                      name, times, each);
  });
}

}  // namespace uvmsim::engine
