#include "sim/sweep/run_points.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

namespace uvmsim::sweep {
namespace {

class Runs {
 public:
  Runs(const std::vector<PointToRun>& points, TraceInput& input, const ReadProgress& progress)
      : points_(points), input_(input), progress_(progress), records_(points.size()), errors_(points.size()) {}

  void take_until_none_is_left() {
    for (std::size_t i = 0; (i = next_++) < points_.size();) {
      try {
        records_[i] = run(points_[i]);
      } catch (...) {
        errors_[i] = std::current_exception();
      }
    }
  }

  std::vector<report::RunRecord> records() {
    if (stop_) std::rethrow_exception(stop_);
    for (const std::exception_ptr& error : errors_) {
      if (error) std::rethrow_exception(error);
    }
    return std::move(records_);
  }

 private:
  struct Stopped {};

  report::RunRecord run(const PointToRun& one) {
    report::RunRecord record = run_point(one.point, input_, one.events, counted());
    if (one.point.point.bounds) add_distance(record, *bound_point(one.point, input_).bounds);
    return record;
  }

  // Adds up what the runs have read.
  ReadProgress counted() {
    return [this, before = std::uint64_t{0}](std::uint64_t done) mutable {
      const std::lock_guard lock(mutex_);
      if (stop_) throw Stopped();
      read_ += done - before;
      before = done;
      try {
        if (progress_) progress_(read_);
      } catch (...) {
        stop_ = std::current_exception();
        throw Stopped();
      }
    };
  }

  const std::vector<PointToRun>& points_;
  TraceInput& input_;
  const ReadProgress& progress_;
  std::vector<report::RunRecord> records_;
  std::vector<std::exception_ptr> errors_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::uint64_t read_ = 0;
  std::exception_ptr stop_;  // what `progress` threw
};

}  // namespace

std::vector<report::RunRecord> run_points(const std::vector<PointToRun>& points, TraceInput& input, std::size_t threads,
                                          const ReadProgress& progress) {
  // Measured now, the input is only read from here on.
  for (const PointToRun& one : points) {
    input.footprint_bytes(one.point.record.options.layout, one.point.point.iterations);
    if (!one.point.record.plugins.empty()) threads = 1;
  }
  Runs runs(points, input, progress);
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min(threads, points.size()); ++i) {
      others.emplace_back([&] { runs.take_until_none_is_left(); });
    }
    runs.take_until_none_is_left();
  }
  return runs.records();
}

}  // namespace uvmsim::sweep
