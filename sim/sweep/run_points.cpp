// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/run_points.h"

#include <exception>
#include <mutex>

#include "sim/common/in_parallel.h"

namespace uvmsim::sweep {
namespace {

// Adds up what several runs of one trace have read.
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
  std::exception_ptr stop_;  // what `progress` threw
};

// run(i, progress) is the record of points[i]. What a trace takes is measured first: after that it is only read.
template <class Run>
std::vector<report::RunRecord> run_all(const std::vector<PointToRun>& points, TraceInput& input, std::size_t threads,
                                       const ReadProgress& progress, Run&& run) {
  for (const PointToRun& one : points) {
    divided_footprint_bytes(one.point.point, one.point.record.options.layout, input);
    if (!one.point.record.plugins.empty()) threads = 1;
  }
  SharedProgress shared(progress);
  std::vector<report::RunRecord> records(points.size());
  in_parallel(points.size(), threads, [&](std::size_t i) { records[i] = run(points[i], shared.of_one()); });
  return records;
}

}  // namespace

std::vector<report::RunRecord> run_points(const std::vector<PointToRun>& points, TraceInput& input, std::size_t threads,
                                          const ReadProgress& progress) {
  return run_all(points, input, threads, progress, [&](const PointToRun& one, const ReadProgress& read) {
    report::RunRecord record = run_point(one.point, input, one.events, read);
    if (one.point.point.bounds) add_distance(record, *bound_point(one.point, input).bounds);
    return record;
  });
}

std::vector<report::RunRecord> bound_points(const std::vector<PointToRun>& points, TraceInput& input,
                                            std::size_t threads, const ReadProgress& progress) {
  return run_all(points, input, threads, progress,
                 [&](const PointToRun& one, const ReadProgress& read) { return bound_point(one.point, input, read); });
}

}  // namespace uvmsim::sweep
