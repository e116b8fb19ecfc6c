// SPDX-License-Identifier: Apache-2.0
// Runs and bounds a point: the one implementation for `uvmsim run`, `bounds`, `sweep` and `check`.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "sim/report/run_record.h"
#include "sim/sweep/point.h"
#include "sim/sweep/resolve.h"
#include "sim/sweep/trace_input.h"

namespace uvmsim::sweep {

// Simulates a resolved point; `input` is its trace (Resolver::trace), whose footprint is measured if it was not yet.
// The record has no `unlimited` run. Throws InputError for a trace that cannot be replayed, or a factor that leaves
// less than one 2 MiB chunk.
report::RunRecord run_point(const ResolvedPoint& resolved, TraceInput& input, EventSink* events = nullptr,
                            const ReadProgress& progress = {});

// Resolves and runs one point. A resolver should be kept for the next point: it caches traces, systems and plug-ins.
report::RunRecord run_point(const Point& point, Resolver& resolver, const ReadProgress& progress = {});

// Computes the lower bounds of a resolved point (sim/bounds): a record whose result holds only records, footprint,
// capacity and time scale. The point's policies and seed do not matter. With `ran`, the program is as long as it was in
// that run; else the point must say its length (fix_length). Throws as run_point() does.
report::RunRecord bound_point(const ResolvedPoint& resolved, TraceInput& input, const RunResult* ran = nullptr,
                              const ReadProgress& progress = {});

// Adds the bounds of its program, and its distance from them, to the record of a run.
void add_distance(report::RunRecord& run, const report::RunBounds& bounds);

// A cache of the bounds of programs. Of the policies only migrate, which decides where pages may stay, and the number
// of iterations until the run settled enter the key; all other runs of a program share its bounds.
class KnownBounds {
 public:
  // Returns the bounds as bound_point() does.
  const report::RunBounds& of(const ResolvedPoint& resolved, TraceInput& input, const RunResult& ran);

 private:
  std::map<std::string, report::RunBounds> known_;  // by determinants without other policies, and iterations
};

// The functions below run several points of one trace on several cores.
struct PointToRun {
  ResolvedPoint point;
  EventSink* events = nullptr;
};

// Returns the records in the order of the points; they do not depend on the number of threads. One thread at a time
// calls `progress`, with the number of records that all threads have replayed, out of records_of(); if it throws, all
// threads stop. If points fail, the first one's error is thrown. Points with plug-ins, which may keep state of their
// own, run one after the other.
std::vector<report::RunRecord> run_points(const std::vector<PointToRun>& points, TraceInput& input, std::size_t threads,
                                          const ReadProgress& progress = {});

// Does the same with bound_point() instead of run_point().
std::vector<report::RunRecord> bound_points(const std::vector<PointToRun>& points, TraceInput& input,
                                            std::size_t threads, const ReadProgress& progress = {});

// The maximum number of records that the points replay together; `open` if runs that settle replay fewer.
struct RecordsToReplay {
  std::uint64_t most = 0;
  bool open = false;
};
RecordsToReplay records_of(const std::vector<PointToRun>& points, TraceInput& input);

// Returns baseline_of(), with as much memory as the program needs (hypothetical_capacity without a limit) where the
// GPU's whole memory is too small. For an unreadable trace it returns baseline_of() itself, whose run reports the
// error.
Point fitting_baseline(const Point& point, Resolver& resolver);

// The dividend of the factor: the given footprint, else the measured one of the point's kind, under the layout.
std::uint64_t divided_footprint_bytes(const ResolvedPoint& resolved, TraceInput& input,
                                      const ReadProgress& progress = {});

// Throws InputError, beginning with `where`, when the factor leaves less than one 2 MiB chunk of the footprint.
void check_factor(std::uint64_t osf_thousandths, std::uint64_t footprint_bytes, const std::string& where,
                  const std::string& trace_name);

}  // namespace uvmsim::sweep
