// SPDX-License-Identifier: Apache-2.0
// The main interface of this room: lower bounds for one program on one system with a given amount of GPU memory.
//
// The bounds hold for every prefetch and eviction policy that the engine can run, with any latencies of faults and
// calls. README.md lists the assumptions, and the costs that are left out to keep the bounds valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/bounds/program.h"
#include "sim/engine/simulation.h"

namespace uvmsim::bounds {

// Each bound is at least as large as the one before.
struct TimeBounds {
  Nanoseconds compute{};      // L0: everything resident, memory for free: the ideal time
  Nanoseconds cold{};         // L1: + data that the host wrote has to arrive first
  Nanoseconds min{};          // L2: + data that cannot have stayed
  Nanoseconds windowed{};     // L3: + data that cannot have been fetched ahead
  Nanoseconds write_backs{};  // L4: + data that has to leave meanwhile
  Nanoseconds best() const { return write_backs; }
};

// The bytes that must move between GPU and host, over the whole program.
struct ByteBounds {
  std::uint64_t cold_htod = 0;  // with any memory
  std::uint64_t htod = 0, dtoh = 0;
  Nanoseconds link_time{};  // of htod and dtoh, at the links' full speed
};

// The last part of the program in which the links, not computing, determine the best bound.
struct HardPhase {
  std::uint64_t first_record = 0, last_record = 0;  // of the recording, from 1; 0: none
  std::uint64_t htod_bytes = 0, dtoh_bytes = 0;
  Nanoseconds link_time{};
};

struct Bounds {
  std::vector<unsigned> gpus;        // GPUs that the program uses
  std::uint64_t capacity_bytes = 0;  // of all of them
  TimeBounds time;
  ByteBounds bytes;
  HardPhase hard_phase;
  std::size_t steps = 0, windows = 0;  // steps.h, windows.h
  TimeScaleResult time_scale;          // as RunResult has it
};

// `options` are as for simulate(). Policies and seed do not matter, except that with a planner memory that the
// framework freed holds nothing. Throws InputError as simulate() does.
Bounds compute_bounds(const trace::Header& header, const RecordSource& source, const RunOptions& options);

// Computes the bounds of a program that has been read already.
Bounds compute_bounds(const Program& program, const config::SystemConfig& system, std::uint64_t capacity_bytes);

}  // namespace uvmsim::bounds
