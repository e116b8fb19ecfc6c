// SPDX-License-Identifier: Apache-2.0
// The log of raw faults: what `uvmtrace faults` and `uvm_experiments --raw-faults` write (README.md has the format).
// This side writes; it depends on nothing but the C++ library, since it is part of the library that programs load.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracer/faults/driver_events.h"
#include "tracer/log/json_line.h"

namespace uvmtrace::faults {

inline constexpr std::uint32_t kFaultLogVersion = 1;

// A thread block of an experiment: where it ran, and from when to when on the GPU's clock.
struct BlockTimes {
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::uint32_t sm = 0;
};

// Bytes of a row of each table: the columns in the order of the struct, as add_rows() writes them.
inline constexpr std::size_t kFaultRow = 37, kReplayRow = 22, kMigrationRow = 53, kBlockRow = 20;

// Appends a section to `out`: its line, which `line` has begun (type "events", name, what else is known), completed
// with the numbers of rows and `dropped`, and then its tables.
void add_section(JsonLine&& line, const DriverEvents& events, const std::vector<BlockTimes>& blocks,
                 std::uint64_t dropped, std::string& out);

// Returns the line that ends the log of a process. `problem`: why nothing was recorded, or empty.
std::string end_line(std::uint64_t dropped, const std::string& problem);

}  // namespace uvmtrace::faults
