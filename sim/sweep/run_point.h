// SPDX-License-Identifier: Apache-2.0
// The one way to run a point, and to bound it: what `uvmsim run`, `bounds`, `sweep` and `check` call.
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

// Simulates a resolved point; `input` is its trace (Resolver::trace). Its footprint is measured if that was not done
// yet. The record has no `unlimited` run. Throws InputError for a trace that cannot be, or a factor that leaves less
// than one 2 MiB chunk.
report::RunRecord run_point(const ResolvedPoint& resolved, TraceInput& input, EventSink* events = nullptr,
                            const ReadProgress& progress = {});

// Resolves and runs one point. Keep the resolver for the next point: it remembers traces, systems and plug-ins.
report::RunRecord run_point(const Point& point, Resolver& resolver, const ReadProgress& progress = {});

// The lower bounds of a resolved point (sim/bounds): a record whose result is empty but for records, footprint,
// capacity and time scale. Policies and seed of the point do not matter. Throws as run_point() does.
report::RunRecord bound_point(const ResolvedPoint& resolved, TraceInput& input, const ReadProgress& progress = {});

// Gives the record of a run the bounds of its program, and its distance from them.
void add_distance(report::RunRecord& run, const report::RunBounds& bounds);

// The bounds of programs by what determines them: of the policies only where pages may stay (migrate), so that the
// other runs of a program share them.
class KnownBounds {
 public:
  // As bound_point().
  const report::RunBounds& of(const ResolvedPoint& resolved, TraceInput& input);

 private:
  std::map<std::string, report::RunBounds> known_;  // by determinants without other policies
};

// Several points of one trace, on several cores.
struct PointToRun {
  ResolvedPoint point;
  EventSink* events = nullptr;
};

// The records in the order of the points; the same as one after the other. `progress` is called by one thread at a
// time, with the records that all of them have read together; when it throws, all stop. Of points that fail, the first
// one's error is thrown. With plug-ins, which may keep state of their own, the points run one after the other.
std::vector<report::RunRecord> run_points(const std::vector<PointToRun>& points, TraceInput& input, std::size_t threads,
                                          const ReadProgress& progress = {});

// The same with bound_point() instead of run_point().
std::vector<report::RunRecord> bound_points(const std::vector<PointToRun>& points, TraceInput& input,
                                            std::size_t threads, const ReadProgress& progress = {});

// What the factor divides: the given footprint, else the measured one of the point's kind, under the layout.
std::uint64_t divided_footprint_bytes(const Point& point, const layout::LayoutChoice& layout, TraceInput& input,
                                      const ReadProgress& progress = {});

// Throws InputError, beginning with `where`, when the factor leaves less than one 2 MiB chunk of the footprint.
void check_factor(std::uint64_t osf_thousandths, std::uint64_t footprint_bytes, const std::string& where,
                  const std::string& trace_name);

}  // namespace uvmsim::sweep
