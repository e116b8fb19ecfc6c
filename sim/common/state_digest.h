// SPDX-License-Identifier: Apache-2.0
// A digest of the model's state, to tell whether two moments of a run are alike: whatever happens after one then also
// happens after the other.
//
// Every part adds what its later behaviour depends on, times relative to the present and things by names that are the
// same in both (a block, a place in a list), not by accidental ones (which of many equal chunks). 128 bits: among the
// few moments that a run compares, two unlike ones do not get the same digest.
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
  // A time from which something is possible, or at which it ends: all that have passed are alike.
  void add_future(Nanoseconds time) {
    add(static_cast<std::uint64_t>(std::max<std::int64_t>(time.value - present_.value, 0)));
  }
  bool ahead(Nanoseconds time) const { return time > present_; }
  // When something happened. From `forgotten` ago on, all times are alike.
  void add_past(Nanoseconds time, Nanoseconds forgotten = Nanoseconds(INT64_MAX)) {
    add(static_cast<std::uint64_t>(std::min(present_.value - time.value, forgotten.value)));
  }
  // One of several parts whose order means nothing.
  void add_unordered(const StateDigest& part) {
    unordered_.high += part.high_;
    unordered_.low += part.low_;
    comparable_ = comparable_ && part.comparable_;
  }
  // A digest with the same present.
  StateDigest part() const { return StateDigest(present_); }

  // There is state that cannot be compared: this moment is like no other.
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
