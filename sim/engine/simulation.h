// SPDX-License-Identifier: Apache-2.0
// The front door of the model: replay one trace on one system under one set of policies.
#pragma once

#include <cstdint>
#include <functional>
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
  // Of the policies that may be chosen.
  std::shared_ptr<const policy::Registry> registry = policy::built_ins();
  // What is chosen for a slot. Throws InputError for an unknown name.
  const policy::PolicyEntry& entry(policy::Slot slot) const {
    return registry->find(slot, (this->*choice_of(slot)).name);
  }

  config::SystemConfig system;
  HarvestChoice harvest;
  layout::LayoutChoice layout;  // recorded
  // GPU memory for managed data. Exactly one of the two decides: capacity_bytes when not 0, else
  // footprint_bytes / osf. osf_thousandths is OSF * 1000 (an integer keeps results identical everywhere).
  std::uint64_t capacity_bytes = 0;
  std::uint64_t osf_thousandths = 1000;
  std::uint64_t footprint_bytes = 0;   // 0 = measured from the trace under the layout
  bool limited = true;                 // false: the GPU's own memory is the capacity (no OSF given)
  bool hypothetical_capacity = false;  // more than the GPU's own memory is allowed
  // Other processes on its GPUs: the GPU's own memory is less by the contexts of so many. simulate_server() counts
  // them.
  std::uint32_t neighbours = 0;
  std::uint64_t seed = 1;
  bool include_host_gaps = true;  // replay the recorded host time between calls
  // Iterations that begin as an earlier one did run as it and are counted, not replayed (recurrence.h); true: all are.
  bool replay_all = false;
  std::uint64_t iterations = 0;  // marked iterations to replay (repeat_iterations.h); 0 = as many as were recorded
  // Passes of the repeated iteration end when the run has settled (settled.h); `iterations` are the most that run.
  // Under policies that know the future, which covers all of them, all run.
  bool until_settled = false;
  TimeScaleChoice time_scale;
};

struct IterationResult {
  std::uint64_t index = 0;
  Nanoseconds begin{}, end{};
  // Between the same two marks in the program that RunResult::ideal times. More than end - begin is possible: a host
  // that ran ahead while the iteration before stalled has less left to do in this one.
  Nanoseconds ideal{};
  Counters counters;  // of this iteration alone
};

// The state of the model at the begin of iteration first + period was that at the begin of `first`: what follows
// repeats these exactly, as long as the program does. Counted over RunResult::iterations.
struct RecurringIterations {
  std::size_t first = 0, period = 1;
};

struct RunResult {
  Nanoseconds total{};                    // first call to last completion
  Nanoseconds ideal{};                    // the same program with everything resident and no managed memory cost
  std::uint64_t footprint_bytes = 0;      // GPU memory that holds all live managed memory at its peak, under the layout
  std::uint64_t arena_reached_bytes = 0;  // of an arena in it that was taken ahead, what tensors reached; 0: no arena
  std::uint64_t unmanaged_bytes = 0;      // the most that the program held of a GPU beside managed memory, in 2 MB
  std::uint64_t capacity_bytes = 0;       // of the GPU in this run, a multiple of 2 MB; it includes unmanaged_bytes
  Counters counters;
  std::vector<IterationResult> iterations;
  // Of them the passes of the iteration that was repeated and leaves memory as it found it (repeat_iterations.h); 0:
  // none was. From which on they agree is another question: settled.h.
  std::size_t first_repeated = 0, repeated = 0;
  // Absent: not seen to recur, or not looked for (several programs, planners).
  std::optional<RecurringIterations> recurring;
  std::uint64_t records = 0;
  // Kernels that touch managed memory; fewer where iterations were not replayed again. None of some: nobody recorded
  // what they touch, and their time says nothing about memory.
  std::uint64_t touching_kernels = 0;
  bool touches_nothing() const { return counters.kernels != 0 && touching_kernels == 0; }
  TimeScaleResult time_scale;
  // Of a program that shares a GPU: how many of its evictions took memory from each program of the server, in their
  // order. Empty: it shares none.
  std::vector<std::uint64_t> evicted_from;
};

// Pull source of records: returns false at the end. Lets the engine stream a file or a generator.
using RecordSource = std::function<bool(trace::Record&)>;

// Optional hooks of a run.
struct RunObserver {
  EventSink* events = nullptr;                          // timeline; may be null
  std::function<void(std::uint64_t records)> progress;  // called every few thousand records; may be empty
  std::function<void()> poll;  // called every few hundred events of the model; may throw to stop; may be empty
  // The trace once more, from its first record: policies of class D4 read ahead. Without it they are refused.
  std::function<RecordSource()> reopen;
  // Called where a repetition of an iteration begins, with all that its course depends on; without, where that cannot
  // be compared. May be empty.
  std::function<void(const std::optional<StateDigest::Value>& state)> state;
};

// The GPU memory, in 2 MB chunks, that holds all live managed memory of the program at its peak under a layout (needs
// one pass over the trace), run for so many iterations (0: as recorded).
std::uint64_t measure_footprint(const RecordSource& source, const layout::LayoutChoice& layout,
                                std::uint64_t iterations = 0);
// Of that what a GPU touches, from the first to the last touch (layout/footprint.h).
std::uint64_t measure_touched_footprint(std::uint32_t quantum_bytes, const RecordSource& source,
                                        const layout::LayoutChoice& layout, std::uint64_t iterations = 0);

// Throws InputError for traces that cannot be (named record and cause) and for policies that cannot run here,
// ModelError for a broken invariant.
RunResult simulate(const trace::Header& header, const RecordSource& source, const RunOptions& options,
                   const RunObserver& observer = {});

// How kernels of several processes come to run on one GPU.
enum class GpuSharing : std::uint8_t {
  kTimeSlices,  // in turns, which the schedule policy chooses: engine/time_slices.h
  kConcurrent,  // side by side, as those of several streams of one process (MPS); they do not slow each other down
};

// One of several programs on a server.
struct ServerProgram {
  std::string name;  // for messages
  trace::Header header;
  RecordSource source;
  RunOptions options;          // `system`: of the first program, for all of them; the rest is the program's own
  RunObserver observer;        // with `reopen`, addresses are as if the program were alone
  std::vector<unsigned> gpus;  // of the server, by device of the trace
  Nanoseconds start{};         // its host begins; times of its result count from here
  bool repeat = false;         // its last iteration is repeated until every program without it has ended
};

// Several programs at once. They share the host's memory bandwidth and links; programs that name the same GPU are
// processes on it and share its memory, its fault buffer and its service thread. A program whose GPUs share nothing
// with others runs as if it were alone, to the last bit (RunResult::recurring is not looked for). A repeated program is
// cut off: its result ends then, and counts what it had done. One result per program, in their order. Throws as
// simulate(), naming the program, and for programs that name no GPU or one that does not exist, when all of them are
// repeated, and when programs on one GPU do not agree in its capacity or in its evict, migrate, route, schedule or
// batch policy. Policies that know the future, planners and harvesting work for GPUs that nobody shares.
std::vector<RunResult> simulate_server(std::span<const ServerProgram> programs,
                                       GpuSharing sharing = GpuSharing::kTimeSlices);

}  // namespace uvmsim
