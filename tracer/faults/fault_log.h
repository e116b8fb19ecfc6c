// SPDX-License-Identifier: Apache-2.0
// Writes the log of raw faults of `uvmtrace faults` and `uvm_experiments --raw-faults` (README.md has the format). It
// depends on nothing but the C++ library, because it is part of the library that programs load.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracer/faults/driver_events.h"
#include "tracer/log/json_line.h"

namespace uvmtrace::faults {

inline constexpr std::uint32_t kFaultLogVersion = 1;

// A thread block of an experiment: its SM, and its begin and end on the GPU's clock.
struct BlockTimes {
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::uint32_t sm = 0;
};

// Bytes of a row of each table: the columns in the order of the struct, as add_rows() writes them.
inline constexpr std::size_t kFaultRow = 37, kReplayRow = 22, kMigrationRow = 53, kBlockRow = 20;

// Appends a section to `out`. `line` is the begun line of the section (type "events", name, other known keys); it is
// completed with the numbers of rows and `dropped`, and the tables follow.
void add_section(JsonLine&& line, const DriverEvents& events, const std::vector<BlockTimes>& blocks,
                 std::uint64_t dropped, std::string& out);

// Returns the line that ends the log of a process. `problem`: why nothing was recorded, or empty.
std::string end_line(std::uint64_t dropped, const std::string& problem);

}  // namespace uvmtrace::faults
