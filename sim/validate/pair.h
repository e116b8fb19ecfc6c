// SPDX-License-Identifier: Apache-2.0
// A measured number beside the simulated one, and checks that fail.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace uvmsim::validate {

// |simulated - measured| / measured in percent; kUnboundedError when only the measured value is 0.
inline constexpr double kUnboundedError = 999.9;
double error_percent(std::uint64_t measured, std::uint64_t simulated);

struct Pair {
  std::uint64_t measured = 0, simulated = 0;
  std::uint64_t difference() const { return std::max(measured, simulated) - std::min(measured, simulated); }
  double error() const { return error_percent(measured, simulated); }
  std::string error_text() const;  // "+1.2 %"
  bool equal() const { return measured == simulated; }
  Pair operator+(const Pair& other) const { return {measured + other.measured, simulated + other.simulated}; }
};

// Returns 0 for an empty list.
template <class Value>
Value median(std::vector<Value> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// One check that is outside its tolerance.
struct Failure {
  std::string check;         // 0: not gradual
  double error_percent = 0;  // 0: not a matter of degree
  std::string text() const;  // "time 23.1 %"
};
std::string joined(const std::vector<Failure>& failures);

// Collects the failed checks: each once, with its largest error.
class Verdict {
 public:
  void within(const char* check, const Pair& pair, double percent) {
    if (pair.error() > percent) add(check, pair.error());
  }
  void within(const char* check, const Pair& pair, std::optional<std::uint64_t> permille) {
    if (permille && pair.error() * 10 > static_cast<double>(*permille)) add(check, pair.error());
  }
  void equal(const char* check, bool same) {
    if (!same) add(check, 0);
  }
  void add(const char* check, double error);
  std::vector<Failure> take() { return std::move(failures_); }

 private:
  std::vector<Failure> failures_;
};

}  // namespace uvmsim::validate
