// SPDX-License-Identifier: Apache-2.0
// The memory that accesses touch, as plain sets: the reference model of the tests.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "tracer/access/extract.h"

namespace uvmtrace::access {

// Inside a test `Run` is GoogleTest's.
using Runs = std::vector<Run>;

// Units of a power-of-two size with the modes that touched them.
class NaiveSet {
 public:
  explicit NaiveSet(std::uint32_t shift) : shift_(shift) {}

  void access(std::uint64_t address, std::uint64_t bytes, std::uint32_t mode) {
    if (bytes == 0) return;
    for (std::uint64_t unit = address >> shift_; unit <= (address + bytes - 1) >> shift_; ++unit) units_[unit] |= mode;
  }
  void touch(std::uint64_t unit, std::uint32_t mode) { units_[unit] |= mode; }

  Runs runs() const {
    Runs runs;
    for (const auto& [unit, mode] : units_) {
      if (mode == 0) continue;
      if (!runs.empty() && runs.back().mode == mode && runs.back().first + runs.back().count == unit) {
        ++runs.back().count;
      } else {
        runs.push_back({unit, 1, mode});
      }
    }
    return runs;
  }
  std::uint64_t size() const { return units_.size(); }

 private:
  std::uint32_t shift_;
  std::map<std::uint64_t, std::uint32_t> units_;
};

}  // namespace uvmtrace::access
