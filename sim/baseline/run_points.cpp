// SPDX-License-Identifier: Apache-2.0
#include "sim/baseline/run_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/common/error.h"
#include "sim/formats/json.h"
#include "sim/report/result_json.h"
#include "sim/sweep/resolve.h"
#include "sim/sweep/run_point.h"
#include "sim/sweep/schedule.h"
#include "sim/sweep/worker_pool.h"

namespace uvmsim::baseline {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::milliseconds kTick{100};
constexpr std::uint64_t kLargestKeptTrace = std::uint64_t{160} << 20;

// The code of a worker process: it receives the position of a request and returns its answer as JSON.
class Worker {
 public:
  explicit Worker(const std::vector<RunRequest>& requests) : requests_(requests), resolver_(kLargestKeptTrace) {}

  std::string operator()(const std::string& position) {
    const RunRequest& request = requests_[std::stoull(position)];
    Json answer;
    const auto start = std::chrono::steady_clock::now();
    try {
      answer = run(request);
      answer["host_ns"] = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
    } catch (const InputError& error) {
      answer["error"] = error.what();
    } catch (const std::bad_alloc&) {
      answer = {{"error", "out of memory"}};
    } catch (const std::exception& error) {
      answer["error"] = fmt::format("this is a bug in uvmsim or a policy plug-in: {}", error.what());
      answer["bug"] = true;
    }
    return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  Json run(const RunRequest& request) {
    resolver_.keep_only_traces_of({request.point});
    check_trace(request);
    const sweep::ResolvedPoint resolved = resolver_.resolve(request.point);
    const std::string result = report::result_json(sweep::run_point(resolved, resolver_.trace(request.point)));
    const compare::RunView view = compare::view_of_result(Json::parse(result), "result");
    const MadeBy now = made_by(view);
    return {{"trace_sha256", resolved.record.trace.sha256},
            {"metrics", Json::object_t(view.metrics.begin(), view.metrics.end())},
            {"plugins", plugin_files(view)},
            {"made_by", Json::array({now.uvmsim_version, now.commit, now.model_version, now.system_sha256,
                                     Json::object_t(now.choices.begin(), now.choices.end())})}};
  }

  // Refuses another trace, whose different results would not be a change of the model.
  void check_trace(const RunRequest& request) {
    std::string found;
    try {
      found = resolver_.trace(request.point).description().sha256;
    } catch (const InputError& error) {
      if (request.trace_sha256.empty()) throw;
      throw_input_error("{}; expected: the trace with SHA-256 {}", error.what(), request.trace_sha256);
    }
    if (request.trace_sha256.empty() || found == request.trace_sha256) return;
    throw_input_error("{}: is another trace: its SHA-256 is {}, expected: {}", request.point.trace, found,
                      request.trace_sha256);
  }

  const std::vector<RunRequest>& requests_;
  sweep::Resolver resolver_;
};

RunAnswer read_answer(const std::string& text) {
  RunAnswer answer;
  const Json json = parse_or_discard<Json>(text);
  if (!json.is_object()) {
    answer.error = "this is a bug in uvmsim: the answer of a worker was cut";
    answer.is_bug = true;
    return answer;
  }
  answer.error = json.value("error", "");
  answer.is_bug = json.value("bug", false);
  answer.trace_sha256 = json.value("trace_sha256", "");
  if (!json.contains("metrics")) return answer;
  const Json& by = json.at("made_by");
  answer.made_by = {by.at(0), by.at(1), by.at(2), by.at(3)};
  for (const auto& [key, value] : by.at(4).items()) answer.made_by.choices.emplace_back(key, value);
  answer.plugins = json.at("plugins").get<PluginFiles>();
  answer.host_ns = json.value("host_ns", std::uint64_t{0});
  for (const auto& [name, value] : json["metrics"].items()) answer.metrics.emplace_back(name, value);
  return answer;
}

}  // namespace

std::vector<RunAnswer> run_points(const std::vector<RunRequest>& requests, std::size_t jobs,
                                  const RunProgress& progress) {
  std::vector<RunAnswer> answers(requests.size());
  if (requests.empty()) return answers;
  sweep::Plan plan;  // used only for the order: points that share a trace go to the same worker
  std::vector<std::size_t> positions;
  for (const RunRequest& request : requests) {
    positions.push_back(plan.points.size());
    plan.points.push_back({request.point, "", "", true});
  }
  sweep::Schedule schedule(plan, positions);
  Worker work(requests);
  sweep::WorkerPool pool(std::clamp<std::size_t>(jobs, 1, requests.size()), std::ref(work));
  std::vector<std::optional<std::size_t>> running(pool.size());
  std::size_t done = 0;
  const auto give_work = [&](std::size_t worker, std::optional<std::size_t> last) {
    running[worker] = schedule.take(last);
    if (running[worker]) pool.send(worker, fmt::format("{}", *running[worker]));
  };
  for (std::size_t worker = 0; worker < pool.size(); ++worker) give_work(worker, std::nullopt);
  while (done < requests.size()) {
    if (const auto event = pool.wait(kTick)) {
      const std::size_t position = running[event->worker].value();
      if (event->died) {
        answers[position].error = event->text;
        answers[position].is_bug = event->crashed;
      } else {
        answers[position] = read_answer(event->text);
      }
      ++done;
      give_work(event->worker, position);
    }
    if (progress) progress(done);
  }
  return answers;
}

}  // namespace uvmsim::baseline
