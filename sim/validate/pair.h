// SPDX-License-Identifier: Apache-2.0
// A measured number beside the simulated one, and a check that it fails.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace uvmsim::validate {

// |simulated - measured| / measured in percent; kUnboundedError when only the measured value is 0.
inline constexpr double kUnboundedError = 999.9;
double error_percent(std::uint64_t measured, std::uint64_t simulated);

struct Pair {
  std::uint64_t measured = 0, simulated = 0;
  double error() const { return error_percent(measured, simulated); }
  Pair operator+(const Pair& other) const { return {measured + other.measured, simulated + other.simulated}; }
};

// One check that is outside its tolerance.
struct Failure {
  std::string check;         // "time", "pages", "median batches", ...
  double error_percent = 0;  // 0: not a matter of degree
  std::string text() const;  // "time 23.1 %"
};
std::string joined(const std::vector<Failure>& failures);

}  // namespace uvmsim::validate
