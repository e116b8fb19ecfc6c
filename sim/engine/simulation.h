// SPDX-License-Identifier: Apache-2.0
// The entry point of the model: it replays one trace on one system under one set of policies.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/common/state_digest.h"
#include "sim/common/units.h"
#include "sim/config/system.h"
#include "sim/driver/harvest_choice.h"
#include "sim/engine/time_scale.h"
#include "sim/events/counters.h"
#include "sim/events/event_sink.h"
#include "sim/layout/layout_choice.h"
#include "sim/policy/policy_choices.h"
#include "sim/policy/registry.h"
#include "sim/trace/record.h"

namespace uvmsim {

// Everything that determines a run besides the trace. The resolved form is written into every result.
struct RunOptions : PolicyChoices {
  // The policies to choose from.
  std::shared_ptr<const policy::Registry> registry = policy::built_ins();
  // Returns the policy chosen for a slot. Throws InputError for an unknown name.
  const policy::PolicyEntry& entry(policy::Slot slot) const {
    return registry->find(slot, (this->*choice_of(slot)).name);
  }

  config::SystemConfig system;
  HarvestChoice harvest;
  layout::LayoutChoice layout;  // default: as recorded
  // GPU memory for managed data. Exactly one of the two decides: capacity_bytes when not 0, else
  // footprint_bytes / osf. osf_thousandths is OSF * 1000 (an integer keeps results identical everywhere).
  std::uint64_t capacity_bytes = 0;
  std::uint64_t osf_thousandths = 1000;
  std::uint64_t footprint_bytes = 0;   // 0 = measured from the trace under the layout
  bool limited = true;                 // false: the GPU's own memory is the capacity (no OSF given)
  bool hypothetical_capacity = false;  // more than the GPU's own memory is allowed
  // The number of other processes on its GPUs, whose contexts take part of the GPU's memory. simulate_server() sets it.
  std::uint32_t neighbours = 0;
  std::uint64_t seed = 1;
  bool include_host_gaps = true;  // replay the recorded host time between calls
  // If true, all iterations are replayed. Else those that begin in the state of an earlier one are counted without a
  // replay (recurrence.h).
  bool replay_all = false;
  std::uint64_t iterations = 0;  // marked iterations to replay (repeat_iterations.h); 0 = as many as were recorded
  // Passes of the repeated iteration end when the run has settled (settled.h), after `iterations` at the latest.
  // Policies that know the future know that of all iterations; under them all run.
  bool until_settled = false;
  TimeScaleChoice time_scale;
};

struct IterationResult {
  std::uint64_t index = 0;
  Nanoseconds begin{}, end{};
  // The time between the same two marks on the ideal clock (RunResult::ideal). It may exceed end - begin: a host that
  // ran ahead while the iteration before stalled has less left to do in this one.
  Nanoseconds ideal{};
  Counters counters;  // of this iteration alone
};

// The state of the model at the begin of iteration first + period was that at the begin of `first`, so that later
// iterations repeat these exactly as long as the program does. Both are counted over RunResult::iterations.
struct RecurringIterations {
  std::size_t first = 0, period = 1;
};

struct RunResult {
  Nanoseconds total{};                    // first call to last completion
  Nanoseconds ideal{};                    // the same program with everything resident and no managed memory cost
  std::uint64_t footprint_bytes = 0;      // GPU memory that holds all live managed memory at its peak, under the layout
  std::uint64_t arena_reached_bytes = 0;  // of an arena allocated ahead, the part that tensors reached; 0: no arena
  std::uint64_t unmanaged_bytes = 0;      // peak of device memory beside managed memory, in whole 2 MB chunks
  std::uint64_t capacity_bytes = 0;       // of the GPU in this run, a multiple of 2 MB; it includes unmanaged_bytes
  Counters counters;
  std::vector<IterationResult> iterations;
  // The iterations that are passes of the repeated one and leave memory as they found it (repeat_iterations.h): the
  // index of the first, and their number; 0: none was repeated. They need not have settled (settled.h).
  std::size_t first_repeated = 0, repeated = 0;
  // Absent if no recurrence was seen, or none was looked for (several programs, planners).
  std::optional<RecurringIterations> recurring;
  std::uint64_t records = 0;
  // Replayed kernels that touch managed memory. If a program has kernels and none of them does, its recording lacks
  // what they touch, and their times say nothing about memory.
  std::uint64_t touching_kernels = 0;
  bool touches_nothing() const { return counters.kernels != 0 && touching_kernels == 0; }
  // By name, the launches of kernels whose name says an access pattern that they do not fit (engine/kernel_work.h), so
  // that a coarser one was played.
  std::map<std::string, std::uint64_t> misfits;
  std::uint64_t misfit_launches() const {
    std::uint64_t sum = 0;
    for (const auto& [name, launches] : misfits) sum += launches;
    return sum;
  }
  TimeScaleResult time_scale;
  // By program of the server, in their order: the evictions of this program that took memory from it. Empty if this
  // program shares no GPU.
  std::vector<std::uint64_t> evicted_from;
};

// Pull source of records: returns false at the end. It lets the engine stream a file or a generator.
using RecordSource = std::function<bool(trace::Record&)>;

// Optional hooks of a run.
struct RunObserver {
  EventSink* events = nullptr;                          // timeline; may be null
  std::function<void(std::uint64_t records)> progress;  // called every few thousand records; may be empty
  std::function<void()> poll;  // called every few hundred events of the model; may throw to stop; may be empty
  // Opens the trace again, from its first record, for policies of class D4, which read ahead. Without it they are
  // refused.
  std::function<RecordSource()> reopen;
  // Called when a repetition of an iteration begins, with a digest of all state that it depends on; absent if that
  // cannot be compared. May be empty.
  std::function<void(const std::optional<StateDigest::Value>& state)> state;
};

// Returns the GPU memory, in bytes of whole 2 MB chunks, that holds all live managed memory of the program at its peak
// under a layout. It reads the trace once, with that many iterations (0: as recorded).
std::uint64_t measure_footprint(const RecordSource& source, const layout::LayoutChoice& layout,
                                std::uint64_t iterations = 0);
// Returns the same for memory that a GPU touches, each part from its first to its last touch (layout/footprint.h).
std::uint64_t measure_touched_footprint(std::uint32_t quantum_bytes, const RecordSource& source,
                                        const layout::LayoutChoice& layout, std::uint64_t iterations = 0);

// Throws InputError for invalid traces (it names the record and the cause) and for policies that cannot run here,
// ModelError for a broken invariant.
RunResult simulate(const trace::Header& header, const RecordSource& source, const RunOptions& options,
                   const RunObserver& observer = {});

// The ways in which kernels of several processes share one GPU.
enum class GpuSharing : std::uint8_t {
  kTimeSlices,  // in turns, which the schedule policy chooses: engine/time_slices.h
  kConcurrent,  // side by side, as those of several streams of one process (MPS); they do not slow each other down
};

// One of several programs on a server.
struct ServerProgram {
  std::string name;  // for messages
  trace::Header header;
  RecordSource source;
  RunOptions options;          // `system` is the first program's for all of them; the rest is the program's own
  RunObserver observer;        // with `reopen`, addresses are as if the program were alone
  std::vector<unsigned> gpus;  // of the server, by device of the trace
  Nanoseconds start{};         // begin of its host; times of its result count from here
  bool repeat = false;         // its last iteration is repeated until every program without it has ended
};

// Simulates several programs at once. They share the host's memory bandwidth and links; programs that name the same GPU
// are processes on it and share its memory, its fault buffer and its service thread. A program whose GPUs share nothing
// with others runs as if it were alone, to the last bit (RunResult::recurring is not looked for). A repeated program is
// cut off when all others have ended, and its result counts what it has done by then. Returns one result per program,
// in their order. Throws as simulate() does, naming the program; also for programs that name no GPU or one that does
// not exist, if all programs are repeated, and if programs on one GPU differ in its capacity or in the evict, migrate,
// route, schedule or batch policy. Policies that know the future, planners and harvesting need GPUs that are not
// shared.
std::vector<RunResult> simulate_server(std::span<const ServerProgram> programs,
                                       GpuSharing sharing = GpuSharing::kTimeSlices);

}  // namespace uvmsim
