// SPDX-License-Identifier: Apache-2.0
// A trace in the form that the bounds use: the operations of the program in the order in which the host issues them,
// each with the pages that it certainly touches, and the calls of the clock between them.
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
  kUse,        // a kernel, copy, set or prefetch to a GPU: every page is on a GPU at some time during it
  kHostTouch,  // the CPU touches the pages: afterwards they are on the host
  kToHost,     // a prefetch to the host
  kDiscard,    // the contents are dead
  kHint,       // from now on the pages' 2 MB blocks may be served from anywhere
  kFree,       // the memory is returned to the driver
};

struct Operation {
  Action action = Action::kUse;
  bool on_host = false;  // the host thread executes it before it continues
  std::uint32_t stream = 0;
  std::size_t after = 0;     // operations [0, after) are over before this one begins
  std::uint64_t record = 0;  // of the recording, from 1
  std::size_t first_run = 0, end_run = 0;
  // Runs [end_run, end_dead_run) held memory that the framework had freed before it issued more. Once this operation
  // and all before it are over, a planner may drop their contents.
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
    kHostOperation,  // no call: the place of an operation of the host thread
  } kind = Kind::kHost;
  // kEnqueue: this is the next one of Program::operations; otherwise it touches no managed memory.
  bool operation = false;
  std::uint32_t stream = 0;
  std::int64_t ns = 0;  // kHost, kEnqueue
  std::uint64_t event = 0;
};

struct Program {
  std::vector<Operation> operations;
  std::vector<PageRun> runs;
  std::vector<ClockCall> clock;
  std::vector<unsigned> gpus;  // GPUs that kernels or prefetches name, ascending; at least GPU 0
  TimeScaleResult time_scale;
  bool pages_may_rest = false;  // kernels may use any page on the host
};

// Reads the program that simulate() would run: scaled durations, repeated iterations, the layout's addresses.
// `capacity_bytes` per GPU affects how some kernels are replayed (engine/kernel_work.h). Throws InputError for
// impossible traces, naming the record.
Program read_program(const trace::Header& header, const RecordSource& source, const RunOptions& options,
                     std::uint64_t capacity_bytes);

}  // namespace uvmsim::bounds
