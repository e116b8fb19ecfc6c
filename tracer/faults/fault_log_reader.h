// SPDX-License-Identifier: Apache-2.0
// Reads and rewrites logs of raw faults (README.md has the format), plain or zstd-compressed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/common/atomic_file.h"
#include "tracer/faults/driver_events.h"
#include "tracer/faults/fault_log.h"

namespace uvmtrace::faults {

// Events of one period of time: a whole program, or one experiment.
struct FaultSection {
  std::string name;
  DriverEvents events;
  std::vector<BlockTimes> blocks;
  std::uint64_t dropped = 0;
};

// The log of one process.
struct ProcessFaults {
  std::string header;  // its first line, unchanged
  std::uint64_t pid = 0;
  std::string program;  // with its arguments, printable
  std::string gpu, driver;
  std::vector<FaultSection> sections;
  std::uint64_t dropped = 0;  // of all sections
  std::string problem;        // why nothing was recorded; usually empty
  // has its end line; otherwise the program was killed, and events that the recorder had not written are missing
  bool complete = false;

  // Joins adjacent sections of the same name.
  void join();
};

// Throws InputError of one line naming the file if the file is not such a log. A log that stops in the middle is no
// error: its complete sections are returned, and the last process is not complete.
std::vector<ProcessFaults> read_fault_log(const std::string& path);

// Writes the processes one after the other, compressed, and commits the file.
void write_fault_log(const std::vector<ProcessFaults>& processes, uvmsim::AtomicFile& file);

}  // namespace uvmtrace::faults
