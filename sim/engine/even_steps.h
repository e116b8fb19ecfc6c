// SPDX-License-Identifier: Apache-2.0
// The sequence floor((offset + k * stride) / parts) for k = 0, 1, 2, ..., without a division per step.
#pragma once

#include <cstdint>

namespace uvmsim::engine {

class EvenSteps {
 public:
  EvenSteps(std::uint64_t offset, std::uint64_t stride, std::uint64_t parts)
      : parts_(parts), whole_(stride / parts), rest_(stride % parts), value_(offset / parts), sum_(offset % parts) {}

  std::uint64_t value() const { return value_; }
  // Returns whether the value is exact, not rounded down.
  bool exact() const { return sum_ == 0; }
  void advance() {
    // No branch: the processor could not predict the carry.
    const std::uint64_t sum = sum_ + rest_;
    const std::uint64_t carry = sum >= parts_;
    value_ += whole_ + carry;
    sum_ = sum - (parts_ & (std::uint64_t{0} - carry));
  }

 private:
  std::uint64_t parts_, whole_, rest_;
  std::uint64_t value_, sum_;
};

}  // namespace uvmsim::engine
