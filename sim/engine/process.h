// SPDX-License-Identifier: Apache-2.0
// One of the programs of a server, and what its parts share of it: who it is, where it runs, what it has counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/machine.h"
#include "sim/engine/record_feed.h"
#include "sim/engine/simulation.h"

namespace uvmsim::engine {

// A program and where it runs. What it refers to must outlive the engine.
struct Hosted {
  const trace::Header& header;
  RecordFeed& feed;
  const RunOptions& options;
  const RunObserver& observer;
  std::vector<unsigned> gpus = {};  // of the machine, by device of the trace; empty: all of them
  Nanoseconds start{};
  bool repeats = false;      // without end: it is cut off when all others have ended
  std::string name = {};     // for messages; empty: there is only one
  std::uint64_t blocks = 0;  // of addresses: the region of one of several programs
};

// Its `gpus` are never empty.
struct Process : Hosted {
  // Throws InputError for the header and for policies that do not go together.
  Process(Machine& machine, std::uint16_t number, const Hosted& hosted);

  Machine& machine;
  const std::uint16_t number;  // on its machine
  RunResult result;            // as far as it is known

  Counters& counters() { return result.counters; }
  bool has_all_gpus() const { return machine.programs == 1 && gpus.size() == machine.system.gpus.size(); }
  const config::RuntimeCosts& costs() const { return options.system.runtime; }
  // The device is one of the trace, below 0 for the host.
  ProcessorId processor(std::int32_t device) const {
    return device < 0 ? kHost : gpu_processor(gpus[static_cast<std::size_t>(device)]);
  }
  // Kernels compute up to `now`, before something changes what they find.
  void advance_kernels(Nanoseconds now) const {
    for (const unsigned gpu : gpus) machine.fault_loops[gpu]->advance(now);
  }
};

}  // namespace uvmsim::engine
