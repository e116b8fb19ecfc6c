// SPDX-License-Identifier: Apache-2.0
// A trace as the bounds see it: the operations of the program in the order in which the host issues them, each with the
// pages that it certainly touches, and what the clock does between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/simulation.h"

namespace uvmsim::bounds {

// Pages [first, end) of the simulated address space.
struct PageRun {
  std::uint64_t first = 0, end = 0;
};

enum class Action : std::uint8_t {
  kUse,        // a kernel, copy, set or prefetch to a GPU: every page is on a GPU at some time of it
  kHostTouch,  // the CPU touches the pages: afterwards they are on the host
  kToHost,     // a prefetch to the host
  kDiscard,    // the contents are dead
  kHint,       // from now on the pages' 2 MB blocks may be served from anywhere
  kFree,       // the memory goes back to the driver
};

struct Operation {
  Action action = Action::kUse;
  bool on_host = false;  // the host thread does it itself, before it goes on
  std::uint32_t stream = 0;
  std::size_t after = 0;     // operations [0, after) are over before this one begins
  std::uint64_t record = 0;  // of the recording, from 1
  std::size_t first_run = 0, end_run = 0;
  // Runs [end_run, end_dead_run): the framework freed what they hold before it issued more. Once this operation and all
  // before it are over, a planner may drop the contents.
  std::size_t end_dead_run = end_run;
};

// One call of engine/ideal_clock.h.
struct ClockCall {
  enum class Kind : std::uint8_t {
    kHost,
    kEnqueue,
    kWaitAll,
    kWait,
    kRecord,
    kWaitEvent,
    kHostWaitsEvent,
    kHostOperation,  // no call: an operation of the host thread stands here
  } kind = Kind::kHost;
  bool operation = false;  // kEnqueue: this is the next one of Program::operations; else it touches no managed memory
  std::uint32_t stream = 0;
  std::int64_t ns = 0;  // kHost, kEnqueue
  std::uint64_t event = 0;
};

struct Program {
  std::vector<Operation> operations;
  std::vector<PageRun> runs;
  std::vector<ClockCall> clock;
  std::vector<unsigned> gpus;  // that kernels or prefetches name, ascending; at least GPU 0
  TimeScaleResult time_scale;
  bool pages_may_rest = false;  // kernels may use any page on the host
};

// The program that simulate() would run: scaled durations, repeated iterations, the layout's addresses.
// `capacity_bytes` per GPU decides how some kernels are played (engine/kernel_work.h).
// Throws InputError for traces that cannot be, naming the record.
Program read_program(const trace::Header& header, const RecordSource& source, const RunOptions& options,
                     std::uint64_t capacity_bytes);

}  // namespace uvmsim::bounds
