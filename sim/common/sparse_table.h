// SPDX-License-Identifier: Apache-2.0
// A value for each of many numbers, of which few are ever asked for: memory grows with those, not with the largest.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/common/lazy_array.h"

namespace uvmsim {

// Values are made in groups of neighbours, and stay where they are.
template <class Value, std::size_t kPerGroup = 16>
class SparseTable {
 public:
  // Returns null if no value of its group was ever requested for writing.
  const Value* find(std::uint64_t number) const {
    const auto group = static_cast<std::size_t>(number / kPerGroup);
    return group < groups_.size() && groups_[group] != nullptr ? &(*groups_[group])[number % kPerGroup] : nullptr;
  }
  Value* find(std::uint64_t number) { return const_cast<Value*>(std::as_const(*this).find(number)); }
  // Returns a copy; Value{} if there is none.
  Value value(std::uint64_t number) const {
    const Value* const found = find(number);
    return found == nullptr ? Value{} : *found;
  }
  Value& operator[](std::uint64_t number) {
    const auto group = static_cast<std::size_t>(number / kPerGroup);
    groups_.grow(group + 1);
    if (groups_[group] == nullptr) {
      made_.push_back(std::make_unique<Group>());
      groups_[group] = made_.back().get();
    }
    return (*groups_[group])[number % kPerGroup];
  }
  // Calls f(number, value) for all values that exist, ascending: the requested ones and others of their groups.
  template <class F>
  void for_each(F&& f) const {
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      if (groups_[group] == nullptr) continue;
      for (std::size_t i = 0; i < kPerGroup; ++i) {
        f(std::uint64_t{group} * kPerGroup + i, std::as_const((*groups_[group])[i]));
      }
    }
  }
  template <class F>
  void for_each(F&& f) {
    for (std::size_t group = 0; group < groups_.size(); ++group) {
      if (groups_[group] == nullptr) continue;
      for (std::size_t i = 0; i < kPerGroup; ++i) f(std::uint64_t{group} * kPerGroup + i, (*groups_[group])[i]);
    }
  }

 private:
  using Group = std::array<Value, kPerGroup>;
  LazyArray<Group*> groups_;
  std::vector<std::unique_ptr<Group>> made_;
};

}  // namespace uvmsim
