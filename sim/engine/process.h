// SPDX-License-Identifier: Apache-2.0
// One program of a server, with the data that its parts share: its options, its GPUs and its counters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/machine.h"
#include "sim/engine/record_feed.h"
#include "sim/engine/simulation.h"

namespace uvmsim::engine {

// A program and its place on the machine. The objects that it refers to must outlive the engine.
struct Hosted {
  const trace::Header& header;
  RecordFeed& feed;
  const RunOptions& options;
  const RunObserver& observer;
  std::vector<unsigned> gpus = {};  // of the machine, by device of the trace; empty: all of them
  Nanoseconds start{};
  bool repeats = false;      // endlessly, until all others have ended
  std::string name = {};     // for messages; empty: there is only one
  std::uint64_t blocks = 0;  // size of its region of addresses, if there are several programs
};

// A program in progress. Its `gpus` are never empty.
struct Process : Hosted {
  // Throws InputError for the header and for policies that do not go together.
  Process(Machine& machine, std::uint16_t number, const Hosted& hosted);

  Machine& machine;
  const std::uint16_t number;  // on its machine
  RunResult result;            // as far as it is known

  Counters& counters() { return result.counters; }
  bool has_all_gpus() const { return machine.programs == 1 && gpus.size() == machine.system.gpus.size(); }
  const config::RuntimeCosts& costs() const { return options.system.runtime; }
  // Returns the processor of a device of the trace, which is below 0 for the host.
  ProcessorId processor(std::int32_t device) const {
    return device < 0 ? kHost : gpu_processor(gpus[static_cast<std::size_t>(device)]);
  }
  // Lets kernels compute up to `now`. Call before anything else changes residency.
  void advance_kernels(Nanoseconds now) const {
    for (const unsigned gpu : gpus) machine.fault_loops[gpu]->advance(now);
  }
};

}  // namespace uvmsim::engine
