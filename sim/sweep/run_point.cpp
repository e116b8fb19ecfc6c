// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/run_point.h"

#include <fmt/format.h>

#include <exception>
#include <mutex>
#include <utility>

#include "sim/bounds/bounds.h"
#include "sim/common/error.h"
#include "sim/common/in_parallel.h"
#include "sim/common/units.h"
#include "sim/engine/capacity.h"
#include "sim/report/numbers.h"
#include "sim/sweep/run_length.h"

namespace uvmsim::sweep {

void check_factor(std::uint64_t osf_thousandths, std::uint64_t footprint_bytes, const std::string& where,
                  const std::string& trace_name) {
  if (footprint_bytes < kBlockBytes) {
    throw_input_error(
        "{}: its footprint is {} bytes, less than one 2 MiB chunk, so that no factor is possible; --capacity-bytes "
        "(capacity_bytes in a sweep) sets the capacity directly",
        trace_name, footprint_bytes);
  }
  const std::uint64_t largest = report::ratio_thousandths(footprint_bytes, kBlockBytes);
  if (osf_thousandths <= largest) return;
  throw_input_error("{}: {} leaves {} of a footprint of {}, less than one 2 MiB chunk; allowed here: at most {}", where,
                    report::format_factor(osf_thousandths),
                    report::format_bytes(footprint_bytes / osf_thousandths * 1000),
                    report::format_bytes(footprint_bytes), report::format_factor(largest));
}

std::uint64_t divided_footprint_bytes(const ResolvedPoint& resolved, TraceInput& input, const ReadProgress& progress) {
  const Point& point = resolved.point;
  const layout::LayoutChoice& layout = resolved.record.options.layout;
  const std::uint64_t iterations = run_length(resolved, input, progress).iterations;
  const std::uint64_t allocated = input.footprint_bytes(layout, iterations, progress);
  if (point.footprint_bytes != 0) return point.footprint_bytes;
  return point.touched_footprint ? input.touched_footprint_bytes(layout, iterations, progress) : allocated;
}

Point fitting_baseline(const Point& point, Resolver& resolver) {
  Point baseline = baseline_of(point);
  const RunOptions& options = resolver.resolve(baseline).record.options;
  const std::uint64_t own = engine::own_capacity_bytes(options.system, 0);
  try {
    baseline.hypothetical_capacity = resolver.trace(baseline).footprint_bytes(options.layout, 0) > own;
  } catch (const InputError&) {  // the run itself reports the error
  }
  return baseline;
}

namespace {

// The record without its results, and the options with the footprint, which is measured if it was not yet.
struct Prepared {
  report::RunRecord record;
  RunOptions options;
  std::uint64_t measured_footprint_bytes = 0;
};
Prepared prepare(const ResolvedPoint& resolved, TraceInput& input, const ReadProgress& progress) {
  const Point& point = resolved.point;
  Prepared prepared{resolved.record, {}, 0};
  RunLength length = run_length(resolved, input, progress);
  prepared.record.options.iterations = length.iterations;
  prepared.record.options.until_settled = length.until_settled;
  prepared.record.not_repeated = std::move(length.not_repeated);
  prepared.options = prepared.record.options;
  prepared.measured_footprint_bytes = input.footprint_bytes(prepared.options.layout, length.iterations, progress);
  const std::uint64_t footprint = divided_footprint_bytes(resolved, input, progress);
  if (point.touched_footprint) prepared.record.touched_footprint_bytes = footprint;
  if (point.osf_thousandths != 0) check_factor(point.osf_thousandths, footprint, "osf", input.name());
  prepared.options.footprint_bytes = footprint;
  prepared.record.header = input.header();
  prepared.record.partial = input.truncated();
  return prepared;
}

}  // namespace

report::RunRecord run_point(const ResolvedPoint& resolved, TraceInput& input, EventSink* events,
                            const ReadProgress& progress) {
  Prepared ready = prepare(resolved, input, progress);
  RunObserver observer;
  observer.events = events;
  observer.reopen = [&] { return input.play({}); };
  std::uint64_t replayed = 0;
  if (progress) {
    observer.progress = [&](std::uint64_t done) { progress(replayed = done); };
    observer.poll = [&] { progress(replayed); };
  }
  ready.record.result =
      input.naming([&] { return simulate(ready.record.header, input.play({}), ready.options, observer); });
  return std::move(ready.record);
}

report::RunRecord bound_point(const ResolvedPoint& resolved, TraceInput& input, const RunResult* ran,
                              const ReadProgress& progress) {
  Prepared ready = prepare(resolved, input, progress);
  if (ran != nullptr && ready.options.iterations != 0) ready.options.iterations = ran->iterations.size();
  const bounds::Bounds bounds =
      input.naming([&] { return bounds::compute_bounds(ready.record.header, input.play(progress), ready.options); });
  RunResult& result = ready.record.result;
  result.records = input.records();
  result.footprint_bytes = ready.measured_footprint_bytes;
  result.capacity_bytes = bounds.capacity_bytes / bounds.gpus.size();
  result.time_scale = bounds.time_scale;
  ready.record.bounds = report::RunBounds{bounds, {}, {}};
  return std::move(ready.record);
}

void add_distance(report::RunRecord& run, const report::RunBounds& bounds) {
  run.bounds = bounds;
  run.bounds->distance = bounds::distance_of(run.result, bounds.bounds, run.options.system);
}

const report::RunBounds& KnownBounds::of(const ResolvedPoint& resolved, TraceInput& input, const RunResult& ran) {
  // Bounds depend on the migrate policy, which decides where pages may stay, and so which bytes have to move.
  std::string program = fmt::format("{}{}{}", program_determinants(resolved.determinants),
                                    resolved.record.options.migrate.name, ran.iterations.size());
  const auto known = known_.find(program);
  if (known != known_.end()) return known->second;
  return known_.emplace(std::move(program), *bound_point(resolved, input, &ran).bounds).first->second;
}

report::RunRecord run_point(const Point& point, Resolver& resolver, const ReadProgress& progress) {
  return run_point(resolver.resolve(point), resolver.trace(point), nullptr, progress);
}

namespace {

// Sums the records that several runs of one trace have read.
class SharedProgress {
 public:
  explicit SharedProgress(const ReadProgress& progress) : progress_(progress) {}

  ReadProgress of_one() {
    return [this, before = std::uint64_t{0}](std::uint64_t done) mutable {
      const std::lock_guard lock(mutex_);
      if (stop_) std::rethrow_exception(stop_);
      read_ += done - before;
      before = done;
      try {
        if (progress_) progress_(read_);
      } catch (...) {
        stop_ = std::current_exception();
        throw;
      }
    };
  }

 private:
  const ReadProgress& progress_;
  std::mutex mutex_;
  std::uint64_t read_ = 0;
  std::exception_ptr stop_;  // the exception that `progress` threw
};

// Calls run(one, progress) for each point. The trace is measured first, because threads may only read it afterwards.
template <class Run>
std::vector<report::RunRecord> run_all(const std::vector<PointToRun>& points, TraceInput& input, std::size_t threads,
                                       const ReadProgress& progress, Run&& run) {
  for (const PointToRun& one : points) {
    divided_footprint_bytes(one.point, input);
    most_records(run_length(one.point, input), input);
    if (!one.point.record.plugins.empty()) threads = 1;
  }
  SharedProgress shared(progress);
  std::vector<report::RunRecord> records(points.size());
  in_parallel(points.size(), threads, [&](std::size_t i) {
    const ReadProgress replayed = shared.of_one();
    records[i] = run(points[i], replayed);
    replayed(most_records(run_length(points[i].point, input), input));  // a run that settled earlier read fewer
  });
  return records;
}

}  // namespace

std::vector<report::RunRecord> run_points(const std::vector<PointToRun>& points, TraceInput& input, std::size_t threads,
                                          const ReadProgress& progress) {
  return run_all(points, input, threads, progress, [&](const PointToRun& one, const ReadProgress& read) {
    report::RunRecord record = run_point(one.point, input, one.events, read);
    if (one.point.point.bounds) add_distance(record, *bound_point(one.point, input, &record.result).bounds);
    return record;
  });
}

std::vector<report::RunRecord> bound_points(const std::vector<PointToRun>& points, TraceInput& input,
                                            std::size_t threads, const ReadProgress& progress) {
  return run_all(points, input, threads, progress, [&](const PointToRun& one, const ReadProgress& read) {
    return bound_point(one.point, input, nullptr, read);
  });
}

RecordsToReplay records_of(const std::vector<PointToRun>& points, TraceInput& input) {
  RecordsToReplay all;
  for (const PointToRun& one : points) {
    const RunLength length = run_length(one.point, input);
    all.most += most_records(length, input);
    all.open = all.open || length.until_settled;
  }
  return all;
}

}  // namespace uvmsim::sweep
