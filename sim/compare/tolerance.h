// SPDX-License-Identifier: Apache-2.0
// The amount by which a metric may change: not at all, by a share, or by an absolute amount; in both directions, or in
// one of them while the other is free (a faster run is no failure).
//
// The arithmetic is exact: a value at the limit is allowed, the next integer is not, on every machine.
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
  // has a unit, "5 us", "2 MiB". A sign makes it a limit of one side: "+2 %" lets the metric rise by 2 % and fall by
  // any amount, "-5 us" lets it fall by 5 us and rise by any amount, "+0" forbids every rise. Throws InputError that
  // starts with `where`.
  static Tolerance parse(std::string_view text, std::string_view metric, const std::string& where);

  bool allows(std::uint64_t expected, std::uint64_t found) const;
  bool exact() const { return side_ == Side::kBoth && absolute_ == 0 && percent_thousandths_ == 0; }
  bool one_sided() const { return side_ != Side::kBoth; }
  // Returns the tolerance as it was given: "2 %"; "at most +2 %", "at least -5 us" for one side; "exact" when no
  // difference is allowed.
  const std::string& text() const { return text_; }

 private:
  enum class Side : std::uint8_t { kBoth, kRise, kFall };  // the direction that is limited

  Side side_ = Side::kBoth;
  std::uint64_t absolute_ = 0;             // in the unit of the metric
  std::uint64_t percent_thousandths_ = 0;  // of the expected value
  std::string text_ = "exact";
};

// Tolerances by name of metric. A pattern may hold * and ?; the exact name takes precedence over patterns, and the
// first matching pattern over later ones.
class Tolerances {
 public:
  // Throws InputError as Tolerance::parse does, and for a pattern given twice.
  void add(const std::string& pattern, const std::string& text, const std::string& where);
  // Adds "NAME=TOLERANCE", or "TOLERANCE" for all names without a match, which is tried last.
  void add_all(const std::vector<std::string>& texts, const std::string& where);
  // Returns the exact tolerance if no pattern matches.
  Tolerance of(std::string_view metric) const;

  // In the order of addition.
  const std::vector<std::pair<std::string, std::string>>& given() const { return given_; }

 private:
  std::vector<std::pair<std::string, std::string>> given_;
};

}  // namespace uvmsim::compare
