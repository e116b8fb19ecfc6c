// SPDX-License-Identifier: Apache-2.0
// How far a metric may move before it counts as changed: not at all, by a share, or by an amount.
//
// Exact arithmetic: a value at the edge is within, the next integer is not, on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace uvmsim::compare {

class Tolerance {
 public:
  Tolerance() = default;  // exact

  // "0", "2 %", "0.5%" (at most three digits after the point, at most 1000 %), "100" or, where the name of the metric
  // has a unit, "5 us", "2 MiB". Throws InputError that starts with `where`.
  static Tolerance parse(std::string_view text, std::string_view metric, const std::string& where);

  bool allows(std::uint64_t expected, std::uint64_t found) const;
  bool exact() const { return absolute_ == 0 && percent_thousandths_ == 0; }
  // As it was given; "exact" when nothing is allowed.
  const std::string& text() const { return text_; }

 private:
  std::uint64_t absolute_ = 0;             // in the unit of the metric
  std::uint64_t percent_thousandths_ = 0;  // of the expected value
  std::string text_ = "exact";
};

// Tolerances by name of metric. A pattern may hold * and ?; the exact name goes before patterns, and of these the
// first.
class Tolerances {
 public:
  // Throws InputError as Tolerance::parse does, and for a pattern given twice.
  void add(const std::string& pattern, const std::string& text, const std::string& where);
  // "NAME=TOLERANCE", or "TOLERANCE" for all that no NAME matches, which go last.
  void add_all(const std::vector<std::string>& texts, const std::string& where);
  // Exact where nothing is said.
  Tolerance of(std::string_view metric) const;

  // As added.
  const std::vector<std::pair<std::string, std::string>>& given() const { return given_; }

 private:
  std::vector<std::pair<std::string, std::string>> given_;
};

}  // namespace uvmsim::compare
