// floor((offset + k * stride) / parts) for k = 0, 1, 2, ... without a division each.
#pragma once

#include <cstdint>

namespace uvmsim::engine {

class EvenSteps {
 public:
  EvenSteps(std::uint64_t offset, std::uint64_t stride, std::uint64_t parts)
      : parts_(parts), whole_(stride / parts), rest_(stride % parts), value_(offset / parts), sum_(offset % parts) {}

  std::uint64_t value() const { return value_; }
  // True if the value is a whole number, not rounded.
  bool exact() const { return sum_ == 0; }
  void advance() {
    sum_ += rest_;
    const bool carry = sum_ >= parts_;
    value_ += whole_ + (carry ? 1 : 0);
    sum_ -= carry ? parts_ : 0;
  }

 private:
  std::uint64_t parts_, whole_, rest_;
  std::uint64_t value_, sum_;
};

}  // namespace uvmsim::engine
