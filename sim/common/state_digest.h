// SPDX-License-Identifier: Apache-2.0
// A digest of the model's state, to detect that two moments of a run are equivalent: they have the same future.
//
// Every part adds everything that its later behaviour depends on. Times are relative to the present, and things are
// named by what is the same in both moments (a block, a position in a list), not by accidental names (one of many equal
// chunks). With 128 bits, no two different states among the few that a run compares get the same digest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "sim/common/random.h"
#include "sim/common/units.h"

namespace uvmsim {

class StateDigest {
 public:
  struct Value {
    std::uint64_t high = 0, low = 0;
    bool operator==(const Value&) const = default;
  };

  explicit StateDigest(Nanoseconds present) : present_(present) {}

  void add(std::uint64_t value) {
    high_ = mixed_bits(high_ ^ value) + 0x9e3779b97f4a7c15u;
    low_ = mixed_bits(low_ + value * 0xd6e8feb86659fd93u) ^ high_;
  }
  // A time from which something is possible, or at which it ends. All past times are equivalent.
  void add_future(Nanoseconds time) {
    add(static_cast<std::uint64_t>(std::max<std::int64_t>(time.value - present_.value, 0)));
  }
  bool ahead(Nanoseconds time) const { return time > present_; }
  // The time of a past event. All times more than `forgotten` ago are equivalent.
  void add_past(Nanoseconds time, Nanoseconds forgotten = Nanoseconds(INT64_MAX)) {
    add(static_cast<std::uint64_t>(std::min(present_.value - time.value, forgotten.value)));
  }
  // Adds one of several parts whose order does not matter.
  void add_unordered(const StateDigest& part) {
    unordered_.high += part.high_;
    unordered_.low += part.low_;
    comparable_ = comparable_ && part.comparable_;
  }
  // Returns a new digest with the same present.
  StateDigest part() const { return StateDigest(present_); }

  // Marks that some state cannot be compared: this moment is equivalent to no other.
  void refuse() { comparable_ = false; }
  std::optional<Value> value() const {
    if (!comparable_) return std::nullopt;
    StateDigest all = *this;
    all.add(unordered_.high);
    all.add(unordered_.low);
    return Value{all.high_, all.low_};
  }

 private:
  Nanoseconds present_;
  std::uint64_t high_ = 0, low_ = 0;
  Value unordered_;
  bool comparable_ = true;
};

}  // namespace uvmsim
