// SPDX-License-Identifier: Apache-2.0
// Converts a record's bits to runs of equal mode.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace uvmtrace::access {

// `count` units from `first` on, read (1), written (2) or both (3).
struct Run {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint32_t mode = 0;

  friend bool operator==(const Run&, const Run&) = default;
};

// Appends the runs of `read.size() * 64` units from `first` on; both spans have the same size, bit 0 of word 0 is
// `first`. A run that continues the last one of `out` lengthens it. Whole words of equal bits take one step each.
void append_runs(std::span<const std::uint64_t> read, std::span<const std::uint64_t> write, std::uint64_t first,
                 std::vector<Run>& out);

// Appends one word of 32 units.
void append_runs(std::uint32_t read, std::uint32_t write, std::uint64_t first, std::vector<Run>& out);

}  // namespace uvmtrace::access
