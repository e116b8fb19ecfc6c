// SPDX-License-Identifier: Apache-2.0
// One finished run with everything that determined it: the input of every output format.
//
// Formats are functions over this struct (result_json.h, result_csv.h); a new one needs nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/bounds/distance.h"
#include "sim/engine/simulation.h"
#include "sim/trace/record.h"

namespace uvmsim::report {

// An input, named by its content: results do not depend on the folder a file lies in.
struct InputFile {
  std::string name;  // without its folder
  std::uint64_t bytes = 0;
  std::string sha256;
};

// Reads the file once. Throws InputError "cannot read <path>: <reason>".
InputFile describe_input(const std::string& path);

// The origin of a result, from which it can be reproduced; empty for a run that no command line can name.
struct Provenance {
  std::string command;  // one line of `uvmsim run`, files by their last names
  std::string model_version, system_sha256;
};

struct PolicyUsed {
  std::string slot;  // "prefetch", "evict"
  std::string name;
  std::string information_class;                                // "D0" (faults and migrations) to "D4" (the future)
  std::vector<std::pair<std::string, std::string>> parameters;  // all of them, with their defaults
};

// The baseline of slowdowns: the same program and system under the driver's own policies, with enough memory.
struct UnlimitedRun {
  Nanoseconds total{};
  Nanoseconds settled{};  // mean of the settled iterations; zero without iterations
  bool is_settled = true;
  std::uint64_t capacity_bytes = 0;
  // The program does not fit into the whole GPU: the baseline had as much memory as it needed.
  bool hypothetical = false;
};

// The fastest of several policies with the same program, system and memory.
struct BestKnown {
  PolicyChoice prefetch, evict;
  Nanoseconds total{};
};

struct RunBounds {
  bounds::Bounds bounds;
  bounds::Distance distance;            // of the run
  std::optional<BestKnown> best_known;  // absent when no other policies ran
};

// The range of the result between the fastest and the slowest machine that the system may stand for
// (config/calibration.h).
struct Uncertainty {
  std::string calibration;                                                    // "fitted to published runs"
  std::string varied;                                                         // "driver costs x0.75 to x1.33, ..."
  std::uint64_t low_ns = 0, high_ns = 0;                                      // of the quoted time
  std::uint64_t low_slowdown_thousandths = 0, high_slowdown_thousandths = 0;  // 0: no baseline
};

struct RunRecord {
  InputFile trace;
  bool partial = false;  // the trace was cut off; only its complete records ran
  trace::Header header;
  std::string system_json;  // the resolved system
  Provenance provenance;
  std::vector<PolicyUsed> policies;
  std::vector<InputFile> plugins;
  RunOptions options;
  RunResult result;
  // If more iterations were wanted than recorded: the reason why they cannot run; otherwise empty.
  std::string not_repeated;
  std::optional<std::uint64_t> touched_footprint_bytes;  // the dividend of the factor; absent: the allocated footprint
  std::optional<UnlimitedRun> unlimited;  // absent when not asked for; a run that is its own baseline is named here too
  std::optional<RunBounds> bounds;        // absent when not asked for
  std::optional<Uncertainty> uncertainty;  // absent when not asked for
};

// Summary of the quoted iterations: means, rounded half up, and the extremes. For a settled run (engine/settled.h)
// these are whole periods of the agreeing iterations. Otherwise they are the later half of the passes of the repeated
// iteration, or the last iteration if none was repeated: this is not a steady figure, and every output marks it and
// gives the extremes.
struct SettledIterations {
  bool is_settled = false;
  std::uint64_t learning = 0;  // iterations before the first settled one; all, if the run has not settled
  std::uint64_t period = 0;    // 0: not settled
  bool exact = false;          // the state recurred
  std::uint64_t count = 0;
  std::uint64_t first_index = 0, last_index = 0;
  Nanoseconds duration{}, shortest{}, longest{};
  Nanoseconds ideal{};
  Counters counters;
};
// Absent when the trace marks no iterations.
std::optional<SettledIterations> settled_iterations(const RunResult& result);
// The quoted iterations within result.iterations: `count` from `first` on.
struct QuotedIterations {
  std::size_t first = 0, count = 0;
  bool contains(std::size_t number) const { return number >= first && number - first < count; }
};
QuotedIterations quoted_iterations(const RunResult& result);

// Formats "settled after 7 of 24 iterations, period 2" or "not settled after 4 iterations".
std::string settled_text(const SettledIterations& settled, std::uint64_t iterations);

// Returns a footprint over the capacity, in thousandths: the given footprint if there is one, else the touched
// footprint if it was asked for.
std::uint64_t effective_osf_thousandths(const RunRecord& record);

// The two readings of an oversubscription factor if a program holds device memory (engine/capacity.h): relative to the
// free memory before it is loaded, and to the memory left for managed data. Footprints as above.
struct OsfReadings {
  std::uint64_t before_loading_thousandths = 0, managed_thousandths = 0;
};
OsfReadings osf_readings(const RunRecord& record);

// Returns whether the run had more memory than its GPU has (RunOptions::hypothetical_capacity).
bool has_hypothetical_capacity(const RunRecord& record);

// Returns the ratio of two times in thousandths; 0 when the other is zero.
std::uint64_t times_thousandths(Nanoseconds time, Nanoseconds other);

UnlimitedRun as_unlimited(const RunRecord& record);

// Returns the quoted time: of the settled iterations, or of the whole run if the trace marks none.
std::uint64_t quoted_ns(const RunResult& result);

// Widens the range by another run of the same point, with its baseline (RunRecord::unlimited) if there is one.
void widen(Uncertainty& uncertainty, const RunRecord& run);

// Return slowdowns of the settled iterations, or of the whole run if the trace marks none. This one is relative to the
// driver's own policies with enough memory; 0 when that run is absent.
std::uint64_t slowdown_thousandths(const RunRecord& record);
// This one is relative to everything resident and no cost of managed memory.
std::uint64_t slowdown_ideal_thousandths(const RunRecord& record);

// For commands that answer about memory alone: throws InputError if no kernel of the program touches memory that the
// trace knows, because its times then say nothing about memory.
void require_touches(const RunRecord& record);

}  // namespace uvmsim::report
