// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/run_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sim/common/error.h"
#include "sim/report/result_json.h"
#include "sim/sweep/point_files.h"
#include "sim/sweep/point_lock.h"
#include "sim/sweep/resolve.h"
#include "sim/sweep/run_point.h"
#include "sim/sweep/schedule.h"
#include "sim/sweep/time_left.h"
#include "sim/sweep/worker_pool.h"

namespace uvmsim::sweep {
namespace {

constexpr std::chrono::milliseconds kTick{100};
// A worker keeps one decoded trace of at most this size. Larger traces are decoded again for every point.
constexpr std::uint64_t kLargestKeptTrace = std::uint64_t{160} << 20;

// Answers of a worker. A failure is followed by its message.
constexpr const char* kFinished = "finished";
constexpr const char* kBusy = "busy";  // another process computes it
constexpr const char* kFailed = "failed ";

// The code that runs in a worker's process.
class PointWorker {
 public:
  PointWorker(const Plan& plan, const std::string& folder)
      : plan_(plan), folder_(folder), files_(folder), resolver_(kLargestKeptTrace) {}

  // Handles "12" or "12 wait": computes the point at that position, once no other process does.
  std::string operator()(const std::string& request) {
    const PlannedPoint& planned = plan_.points[std::stoull(request)];
    if (!locks_) locks_ = std::make_unique<PointLocks>(folder_);  // must be opened after the fork
    if (!locks_->lock(planned.id, request.ends_with("wait"))) return kBusy;
    std::string answer = kFinished;
    if (!files_.is_finished(planned.id)) {
      const std::string error = compute(planned);
      if (!error.empty()) answer = kFailed + error;
    }
    locks_->unlock(planned.id);
    return answer;
  }

 private:
  // Returns the error, which is also written to the point's error file.
  std::string compute(const PlannedPoint& planned) {
    std::string error;
    try {
      files_.write_result(planned.id, result_of(planned));
      return "";
    } catch (const InputError& caught) {
      error = caught.what();
    } catch (const std::bad_alloc&) {
      error = "out of memory";
    } catch (const std::exception& caught) {
      error = fmt::format("this is a bug in uvmsim or a policy plug-in: {}", caught.what());
    }
    try {
      files_.write_error(planned.id, label(planned), error);
    } catch (const InputError& caught) {
      error += fmt::format("; {}", caught.what());
    }
    return error;
  }

  std::string result_of(const PlannedPoint& planned) {
    resolver_.check_plugins(planned.point, planned.determinants);
    if (planned.scenario) {
      check_id(scenario::resolve(*planned.scenario, resolver_).id, planned);
      return scenario::run(*planned.scenario, resolver_);
    }
    return run(planned);
  }

  static void check_id(const std::string& id, const PlannedPoint& planned) {
    if (id == planned.id) return;
    throw_input_error("the trace, the system or a plug-in changed since the sweep was planned; plan it again");
  }

  std::string run(const PlannedPoint& planned) {
    resolver_.keep_only_traces_of({planned.point});
    const ResolvedPoint resolved = resolver_.resolve(planned.point);
    check_id(resolved.id, planned);
    TraceInput& trace = resolver_.trace(planned.point);
    if (planned.point.bounds) {
      if (const auto known = result_without_bounds(planned.point)) return with_bounds(*known, resolved, trace);
    }
    report::RunRecord record = run_point(resolved, trace);
    if (planned.point.bounds) add_distance(record, bounds_.of(resolved, trace, record.result));
    return report::result_json(record);
  }

  // Returns the finished result of the same point without bounds, if there is one.
  std::optional<std::string> result_without_bounds(Point point) {
    point.bounds = false;
    return files_.result(resolver_.resolve(point).id);
  }

  std::string with_bounds(const std::string& result, const ResolvedPoint& resolved, TraceInput& trace) {
    report::RunRecord record = resolved.record;
    const nlohmann::json known = nlohmann::json::parse(result);
    record.result.total = Nanoseconds(known.at("total_ns"));
    for_each_counter(record.result.counters,
                     [&](const char* name, std::uint64_t& value) { value = known.at("counters").at(name); });
    record.result.iterations.resize(known.at("iterations").size());  // the same length as the known run
    add_distance(record, bounds_.of(resolved, trace, record.result));
    return report::result_json_with_bounds(result, record);
  }

  const Plan& plan_;
  std::string folder_;
  PointFiles files_;
  Resolver resolver_;
  KnownBounds bounds_;
  std::unique_ptr<PointLocks> locks_;
};

class Sweep {
  using Clock = std::chrono::steady_clock;

 public:
  Sweep(const Plan& plan, const std::string& folder, const SweepRun& run)
      : plan_(plan), run_(run), files_(folder), folder_(folder), schedule_(plan, missing_points()) {}

  SweepProgress all() {
    if (missing_.empty()) return progress_;
    for (const std::size_t position : missing_) cost_ += expected_cost(plan_.points[position].point);
    PointWorker work(plan_, folder_);
    WorkerPool pool(std::clamp<std::size_t>(run_.jobs, 1, missing_.size()), std::ref(work));
    workers_.resize(pool.size());
    try {
      for (std::size_t worker = 0; worker < pool.size(); ++worker) give_work(pool, worker);
      while (std::ranges::any_of(workers_, [](const Worker& worker) { return worker.running.has_value(); })) {
        if (const auto event = pool.wait(kTick)) take_answer(pool, *event);
        stop_late_points(pool);
        estimate(pool.size());
        if (run_.progress) run_.progress(progress_);
      }
    } catch (...) {
      for (const pid_t process : pool.kill_all()) {
        for (const Worker& worker : workers_) {
          if (worker.running) files_.remove_leftovers(plan_.points[*worker.running].id, process);
        }
      }
      throw;
    }
    return progress_;
  }

 private:
  struct Worker {
    std::optional<std::size_t> running;
    std::optional<std::size_t> last;  // the last point, for the schedule
    Clock::time_point started{};
    bool waits = false;  // it waits for another process's lock, which is not part of the point's time
  };

  static TimeLeft::Milliseconds since(Clock::time_point start) {
    return std::chrono::duration_cast<TimeLeft::Milliseconds>(Clock::now() - start);
  }

  const std::vector<std::size_t>& missing_points() {
    for (std::size_t i = 0; i < plan_.points.size(); ++i) {
      if (!run_.shard.holds(i)) continue;
      ++progress_.points;
      if (files_.is_finished(plan_.points[i].id)) {
        ++progress_.finished;
      } else {
        missing_.push_back(i);
      }
    }
    return missing_;
  }

  // A worker that waits for another process's point does not exceed its limit.
  void stop_late_points(WorkerPool& pool) {
    if (run_.point_limit.count() == 0) return;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      Worker& worker = workers_[i];
      if (!worker.running || worker.waits || since(worker.started) < run_.point_limit) continue;
      const std::size_t position = *std::exchange(worker.running, std::nullopt);
      bury(position, pool.replace(i),
           fmt::format("stopped after {} s, the limit of a point", run_.point_limit.count()));
      give_work(pool, i);
    }
  }

  // Records the failure of a point whose process died.
  void bury(std::size_t position, pid_t process, const std::string& error) {
    const PlannedPoint& planned = plan_.points[position];
    files_.remove_leftovers(planned.id, process);
    if (files_.is_finished(planned.id)) {  // the process died after it had written the result
      ++progress_.finished;
      return done(position);
    }
    files_.write_error(planned.id, label(planned), error);
    fail(position, error);
  }

  void show_running() {
    progress_.running.clear();
    for (const Worker& worker : workers_) {
      if (worker.running) progress_.running.push_back({label(plan_.points[*worker.running]), since(worker.started)});
    }
    std::ranges::stable_sort(progress_.running, std::greater{}, &SweepProgress::Running::elapsed);
  }

  // Updates the estimate, at most once a second, as there may be many points.
  void estimate(std::size_t processes) {
    const auto now = Clock::now();
    if (!run_.progress || now - estimated_ < std::chrono::seconds(1)) return;
    estimated_ = now;
    show_running();
    std::map<std::size_t, TimeLeft::Milliseconds> elapsed;  // by position
    for (const Worker& worker : workers_) {
      if (worker.running) elapsed[*worker.running] = since(worker.started);
    }
    std::vector<TimeLeft::Rest> rest;
    for (const std::size_t position : missing_) {
      if (!over_.contains(position)) rest.push_back({&plan_.points[position].point, elapsed[position]});
    }
    progress_.left = time_left_.of(rest, processes);
  }

  void give_work(WorkerPool& pool, std::size_t number) {
    Worker& worker = workers_[number];
    worker.started = Clock::now();
    worker.last = schedule_.take(worker.last);
    worker.waits = !worker.last && !busy_.empty();
    if (worker.last) {
      worker.running = worker.last;
      pool.send(number, fmt::format("{}", *worker.running));
    } else if (worker.waits) {
      // No other point is left: waits until the other process has finished this one or has died.
      worker.running = busy_.front();
      busy_.pop_front();
      pool.send(number, fmt::format("{} wait", *worker.running));
    }
  }

  void take_answer(WorkerPool& pool, const WorkerPool::Event& event) {
    Worker& worker = workers_[event.worker];
    const std::size_t position = std::exchange(worker.running, std::nullopt).value();
    if (event.died) {
      bury(position, event.process, event.text);
    } else if (event.text == kBusy) {
      busy_.push_back(position);
    } else if (event.text == kFinished) {
      ++progress_.finished;
      time_left_.note(plan_.points[position].point, since(worker.started));
      done(position);
    } else {
      fail(position, event.text.substr(std::min(event.text.size(), std::string_view(kFailed).size())));
    }
    give_work(pool, event.worker);
  }

  void fail(std::size_t position, const std::string& error) {
    ++progress_.failed;
    done(position);
    if (run_.failed) run_.failed(label(plan_.points[position]), error);
  }

  void done(std::size_t position) {
    over_.insert(position);
    cost_done_ += expected_cost(plan_.points[position].point);
    progress_.done_thousandths = cost_done_ * 1000 / std::max<std::uint64_t>(cost_, 1);
  }

  const Plan& plan_;
  const SweepRun& run_;
  PointFiles files_;
  std::string folder_;
  SweepProgress progress_;
  std::vector<std::size_t> missing_;
  Schedule schedule_;
  std::deque<std::size_t> busy_;  // points that another process was computing
  std::vector<Worker> workers_;
  std::uint64_t cost_ = 0, cost_done_ = 0;
  std::set<std::size_t> over_;  // points that are finished or failed
  TimeLeft time_left_;
  Clock::time_point estimated_{};
};

}  // namespace

SweepProgress run_sweep(const Plan& plan, const std::string& folder, const SweepRun& run) {
  check_versions(plan, folder);
  {
    PointLocks locks(folder);  // closed before the workers are forked, which would inherit it
    PointFiles(folder).remove_leftovers(locks);
  }
  return Sweep(plan, folder, run).all();
}

}  // namespace uvmsim::sweep
