// SPDX-License-Identifier: Apache-2.0
// A value per chunk, for evictors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace uvmsim::policy {

// Values by ChunkId::value, or by GroupId::value, as there are no more groups than chunks. They begin as Value{}, and
// exist up to the largest that was asked for: GPU memory hands out fresh chunks lowest id first, so memory grows with
// the chunks in use, not with the capacity.
template <class Value>
class PerChunk {
  static_assert(!std::is_same_v<Value, bool>, "std::vector<bool> has no references; std::uint8_t does");

 public:
  // References end when a larger index is asked for.
  Value& operator[](std::uint32_t index) {
    if (index >= values_.size()) values_.resize(std::size_t{index} + 1);
    return values_[index];
  }
  Value operator[](std::uint32_t index) const { return index < values_.size() ? values_[index] : Value{}; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(values_.size()); }

 private:
  std::vector<Value> values_;
};

}  // namespace uvmsim::policy
