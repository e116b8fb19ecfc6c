// SPDX-License-Identifier: Apache-2.0
// One finished run with everything that determined it: what every output format is made of.
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

// What would give the same result again, and made this one; empty for a run that no command line can name.
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

// The same program and system under the driver's own policies, with the GPU's whole memory: what slowdowns divide by.
struct UnlimitedRun {
  Nanoseconds total{};
  Nanoseconds settled{};        // mean of the settled iterations; zero without iterations
  std::uint64_t evictions = 0;  // not 0: even the whole GPU is too small for this program
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

struct RunRecord {
  InputFile trace;
  bool partial = false;  // the trace was cut off; only its whole part ran
  trace::Header header;
  std::string system_json;  // the resolved system
  Provenance provenance;
  std::vector<PolicyUsed> policies;
  std::vector<InputFile> plugins;
  RunOptions options;
  RunResult result;
  std::optional<std::uint64_t> touched_footprint_bytes;  // what the factor divides; absent: the allocated footprint
  std::optional<UnlimitedRun> unlimited;  // of the run itself where it is that one; absent when not asked for
  std::optional<RunBounds> bounds;        // absent when not asked for
};

// The iterations to quote, as one: means, rounded half up, and the extremes. Of a run that has settled
// (engine/settled.h) whole periods of those from which on they agree. Of one that has not, all passes of the repeated
// iteration, or the last iteration where none was repeated: no steady figure, and every output says so.
struct SettledIterations {
  bool is_settled = false;
  std::uint64_t learning = 0;  // iterations before the first settled one; of one that has not settled, all
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
// Which of result.iterations these are: `count` from `first` on.
struct QuotedIterations {
  std::size_t first = 0, count = 0;
  bool contains(std::size_t number) const { return number >= first && number - first < count; }
};
QuotedIterations quoted_iterations(const RunResult& result);

// "settled after 7 of 24 iterations, period 2" or "not settled after 4 iterations".
std::string settled_text(const SettledIterations& settled, std::uint64_t iterations);

// Footprint (the given one if there is one, else the touched one where that was asked for) / capacity, in thousandths.
std::uint64_t effective_osf_thousandths(const RunRecord& record);

// Whether the run had more memory than its GPU has (RunOptions::hypothetical_capacity).
bool has_hypothetical_capacity(const RunRecord& record);

// How many times as long as another time, in thousandths; 0 when that is zero.
std::uint64_t times_thousandths(Nanoseconds time, Nanoseconds other);

UnlimitedRun as_unlimited(const RunResult& result);

// Total time over the time with everything resident.
std::uint64_t slowdown_thousandths(const RunResult& result);

// Settled iterations (or the whole run when there is none) over the same of the unlimited run; 0 when that is absent.
std::uint64_t slowdown_to_unlimited_thousandths(const RunRecord& record);

}  // namespace uvmsim::report
