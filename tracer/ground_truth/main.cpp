// SPDX-License-Identifier: Apache-2.0
// uvm_experiments: ground truth for `uvmsim validate` and `uvmsim calibrate` from this machine's GPU and driver.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracer/faults/driver_queue.h"
#include "tracer/faults/fault_log.h"
#include "tracer/ground_truth/cost_tables.h"
#include "tracer/ground_truth/cupti_recorder.h"
#include "tracer/ground_truth/device.h"
#include "tracer/ground_truth/experiment.h"
#include "tracer/ground_truth/fault_experiments.h"
#include "tracer/ground_truth/host_speed.h"
#include "tracer/ground_truth/observer.h"
#include "tracer/ground_truth/oversubscription.h"
#include "tracer/ground_truth/run_beyond.h"
#include "tracer/ground_truth/run_calls.h"
#include "tracer/ground_truth/run_experiment.h"
#include "tracer/ground_truth/run_faults.h"
#include "tracer/log/process_header.h"

namespace uvmtrace::ground_truth {
namespace {

constexpr int kExitFailed = 1, kExitUsage = 2;
constexpr int kAttempts = 3;  // for an experiment whose records were dropped

constexpr const char* kUsage =
    R"(usage: uvm_experiments [options] --output FILE.jsonl     experiments with known accesses
       uvm_experiments [options] --observer FILE.jsonl     what it costs that somebody listens
       uvm_experiments [options] --peer N --output FILE    the same, of memory that GPU N has at first
       uvm_experiments [options] --costs FILE.txt          what calls and copies cost
       uvm_experiments [options] --calls FILE.jsonl        how long calls on managed memory keep the host and last
       uvm_experiments [options] --raw-faults FILE.faults  every raw fault of kernels with known accesses
       uvm_experiments [options] --list                    the experiments, without a GPU
       uvm_experiments --oversubscribe --i-know-this-can-hang-the-gpu --output FILE    programs beyond GPU memory

Makes small programs fault on managed memory and writes, one experiment per line, what CUPTI saw (which pages, in which
batch) and how long the same took while nobody listened, for `uvmsim validate` and `uvmsim calibrate`. Listening makes
kernels slower, up to 2.5 times, so a second process makes the same experiments without. Leave the GPU alone meanwhile.

  --only TEXT     experiments, or programs of --calls, whose name contains TEXT
  --repeats N     each N times (default 1); later ones are called NAME_rep2, ...
  --times N       runs without a listener (default 5, 0 for none); with --observer: runs under each
  --seed N        of the random lists (default 1)
  --quick         a tenth of the experiments, none above 16 MB
  --device N      GPU (default 0)
  --peer N        another GPU that it reaches over NVLink
  --share PERCENT of the free memory that may become managed memory (default 25, at most 50)

Managed memory never exceeds that share of what the GPU has free, nor half of what the host has free.
Experiments that would are refused. Those whose records CUPTI dropped are repeated; then only their times are written.

--observer runs each experiment in turns with nobody listening, under CUPTI, and under the driver's own queue for faults
and replays and for migrations, too: times and counts. observer_costs.py tells from them what a record costs.

--raw-faults writes the driver's events of about 250 small kernels, with the SM and the times of every thread block, in the
format of `uvmtrace faults`; `uvmtrace faults --show FILE` prints it, fault_constants.py works out the GPU's constants. Of the
options --only, --quick, --device and --share apply.

--oversubscribe does the opposite: programs that need 1.3 times the memory that the GPU has free, so that the driver
evicts. Some drivers and GPUs hang then until the machine is restarted, and everybody else on the GPU waits. Never on a
GPU that you share; --i-know-this-can-hang-the-gpu must say that you know. --only, --seed and --device apply.
)";

struct Options {
  std::string output, observer, costs, calls, raw_faults, only;
  bool list = false, quick = false;
  bool oversubscribe = false, acknowledged = false;
  std::uint32_t repeats = 1, times = 5, share = kDefaultSharePercent, device = 0;
  int peer = kNoPeer;
  std::uint64_t seed = 1;
};

[[noreturn]] void fail_usage(const std::string& text) {
  std::fprintf(stderr, "uvm_experiments: error: %s\n", text.c_str());
  std::exit(kExitUsage);
}

std::uint64_t number(const std::string& option, const char* text, std::uint64_t least, std::uint64_t most) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value < least || value > most) {
    fail_usage(option + " is '" + text + "'; allowed: " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    if (word == "--help" || word == "-h") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    }
    if (word == "--list") {
      options.list = true;
      continue;
    }
    if (word == "--quick") {
      options.quick = true;
      continue;
    }
    if (word == kOversubscribeFlag || word == kAcknowledgeFlag) {
      (word == kOversubscribeFlag ? options.oversubscribe : options.acknowledged) = true;
      continue;
    }
    const bool known = word == "--output" || word == "-o" || word == "--observer" || word == "--costs" ||
                       word == "--calls" || word == "--raw-faults" || word == "--only" || word == "--repeats" ||
                       word == "--times" || word == "--seed" || word == "--device" || word == "--peer" ||
                       word == "--share";
    if (!known) fail_usage("unknown argument '" + word + "'; --help shows what there is");
    if (++i == count) fail_usage(word + " needs a value");
    const char* value = arguments[i];
    if (word == "--output" || word == "-o") options.output = value;
    if (word == "--observer") options.observer = value;
    if (word == "--costs") options.costs = value;
    if (word == "--calls") options.calls = value;
    if (word == "--raw-faults") options.raw_faults = value;
    if (word == "--only") options.only = value;
    if (word == "--repeats") options.repeats = static_cast<std::uint32_t>(number(word, value, 1, 1000));
    if (word == "--times") options.times = static_cast<std::uint32_t>(number(word, value, 0, 1000));
    if (word == "--seed") options.seed = number(word, value, 0, 1000000000);
    if (word == "--device") options.device = static_cast<std::uint32_t>(number(word, value, 0, 255));
    if (word == "--peer") options.peer = static_cast<int>(number(word, value, 0, 255));
    if (word == "--share") options.share = static_cast<std::uint32_t>(number(word, value, 1, kLargestSharePercent));
  }
  int files = 0;
  for (const std::string* file :
       {&options.output, &options.observer, &options.costs, &options.calls, &options.raw_faults}) {
    files += file->empty() ? 0 : 1;
  }
  if (!options.list && files == 0) {
    fail_usage("nothing to do: give --output, --observer, --costs, --calls, --raw-faults or --list; --help explains");
  }
  if (files > 1) {
    fail_usage("--output, --observer, --costs, --calls and --raw-faults exclude each other: each is a run of its own");
  };
  if (!options.observer.empty() && options.times == 0) fail_usage("--observer needs --times of 1 or more");
  if (options.oversubscribe) {
    const std::string refusal = oversubscription_refusal(options.acknowledged);
    if (!refusal.empty()) fail_usage(refusal);
    if (options.output.empty() || options.list || options.quick || options.peer != kNoPeer || options.repeats != 1) {
      fail_usage(std::string(kOversubscribeFlag) +
                 " needs --output, and excludes --list, --quick, --peer and --repeats");
    }
  }
  if (options.peer == static_cast<int>(options.device)) fail_usage("--peer is the GPU that runs the kernels itself");
  return options;
}

// A file beside the target that replaces it when complete.
class OutputFile {
 public:
  explicit OutputFile(std::string path) : path_(std::move(path)), part_(path_ + ".part") {
    file_ = std::fopen(part_.c_str(), "w");
    if (file_ == nullptr) throw DeviceError(part_ + ": " + std::strerror(errno));
  }
  ~OutputFile() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    std::remove(part_.c_str());
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  std::FILE* get() { return file_; }
  void finish() {
    const bool written = std::ferror(file_) == 0;
    const bool closed = std::fclose(file_) == 0;
    file_ = nullptr;
    if (!written || !closed || std::rename(part_.c_str(), path_.c_str()) != 0) {
      const std::string reason = std::strerror(errno);
      std::remove(part_.c_str());
      throw DeviceError(path_ + ": cannot be written: " + reason);
    }
  }

 private:
  std::string path_, part_;
  std::FILE* file_ = nullptr;
};

struct Counts {
  int made = 0, times_only = 0, refused = 0, left_out = 0, repeated = 0;
};

std::vector<Experiment> chosen(const Options& options, std::uint32_t sm_count) {
  ListOptions list;
  list.seed = options.seed;
  list.quick = options.quick;
  list.sm_count = sm_count;
  std::vector<Experiment> experiments;
  for (Experiment& experiment : options.peer == kNoPeer ? default_experiments(list) : peer_experiments(list)) {
    if (experiment.name.find(options.only) != std::string::npos) experiments.push_back(std::move(experiment));
  }
  return experiments;
}

DeviceInfo open_gpus(const Options& options) {
  DeviceInfo device = open_device(static_cast<int>(options.device));
  if (options.peer != kNoPeer) open_peer(static_cast<int>(options.device), options.peer);
  return device;
}

// The state of a worker: the GPU, the experiments of the list, the listener.
class Timed {
 public:
  Timed(const Options& options, Observer observer)
      : observer_(observer),
        device_(open_gpus(options)),
        experiments_(chosen(options, device_.sm_count)),
        budget_(options.share),
        runner_(static_cast<int>(options.device), options.peer, budget_) {
    std::string problem;
    if (observer == Observer::kCupti) problem = start_recording(options.device, options.peer);
    if (observer == Observer::kQueueFaults) problem = queue_.start(faults::DriverQueue::Events::kFaults);
    if (observer == Observer::kQueue) problem = queue_.start(faults::DriverQueue::Events::kFaultsAndMigrations);
    if (!problem.empty()) throw DeviceError(problem);
  }

  Timing run(std::size_t i) {
    Timing timing = runner_.time(experiments_.at(i), [this] { take(); });
    const Timing counted = take();
    timing.raw_faults = counted.raw_faults;
    timing.replays = counted.replays;
    timing.migrations = counted.migrations;
    timing.dropped = counted.dropped;
    return timing;
  }

 private:
  // Returns the listener's counts since the last call. Each GPU fault record of CUPTI is a batch, and also counts as a
  // replay.
  Timing take() {
    Timing timing;
    if (observer_ == Observer::kCupti) {
      const Recording recording = take_recording();
      timing.dropped = recording.dropped;
      for (const CounterRecord& record : recording.counters) {
        const bool copy = record.kind == CounterKind::kHostToDevice || record.kind == CounterKind::kDeviceToHost ||
                          record.kind == CounterKind::kDeviceToDevice;
        timing.migrations += copy ? 1 : 0;
        timing.replays += record.kind == CounterKind::kGpuFault ? 1 : 0;
      }
    } else if (observer_ != Observer::kNobody) {
      events_.clear();
      queue_.finish(events_);
      timing.raw_faults = events_.faults.size();
      timing.replays = events_.replays.size();
      timing.migrations = events_.migrations.size();
      timing.dropped = queue_.take_dropped();
    }
    return timing;
  }

  Observer observer_;
  DeviceInfo device_;
  std::vector<Experiment> experiments_;
  ManagedBudget budget_;
  Runner runner_;
  faults::DriverQueue queue_;
  faults::DriverEvents events_;
};

std::unique_ptr<Worker> worker(const Options& options, Observer observer) {
  return std::make_unique<Worker>(observer, [&options](Observer who) -> Worker::RunOne {
    auto timed = std::make_shared<Timed>(options, who);
    return [timed](std::size_t i) { return timed->run(i); };
  });
}

void time_without_listener(Worker& nobody, std::size_t i, std::uint32_t runs, Unobserved& out) {
  for (std::uint32_t run = 0; run < runs; ++run) {
    const Timing timing = nobody.run(i);
    if (timing.kernel_ns > 0) out.kernel_ns.push_back(timing.kernel_ns);
    if (timing.host_ns > 0) out.host_ns.push_back(timing.host_ns);
  }
}

// Runs both parts of the experiment in turns: half of the unobserved runs, the recorded run, the other half.
void make_one(Runner& runner, Worker* nobody, const Options& options, const Experiment& experiment, std::size_t i,
              std::uint32_t repeat, const std::string& host, std::FILE* out, Counts& counts) {
  try {
    Unobserved unobserved;
    unobserved.host = host;
    const std::uint32_t first = (options.times + 1) / 2;
    if (nobody != nullptr) time_without_listener(*nobody, i, first, unobserved);
    Measurement measurement;
    std::string reason;
    for (int attempt = 1; attempt <= kAttempts; ++attempt) {
      measurement = runner.run(experiment);
      reason = defect(experiment, measurement);
      if (reason.empty()) break;
      ++counts.repeated;
    }
    if (nobody != nullptr) time_without_listener(*nobody, i, options.times - first, unobserved);
    measurement.unobserved = std::move(unobserved);
    if (reason.empty()) {
      std::fputs(to_line(experiment, measurement, repeat).c_str(), out);
      ++counts.made;
      return;
    }
    std::fprintf(stderr, "uvm_experiments: %s %s after %d attempts: %s\n", experiment.name.c_str(),
                 nobody != nullptr ? "has times only" : "left out", kAttempts, reason.c_str());
    if (nobody != nullptr) std::fputs(to_line_of_times(experiment, measurement, repeat).c_str(), out);
    ++(nobody != nullptr ? counts.times_only : counts.left_out);
  } catch (const Refusal& refusal) {
    std::fprintf(stderr, "uvm_experiments: error: %s refused: %s\n", experiment.name.c_str(), refusal.what());
    ++counts.refused;
  }
}

void announce(const DeviceInfo& device, const HostSpeed& host) {
  std::fprintf(stderr, "uvm_experiments: %s, %u SMs, CUDA %d (driver supports %d); host %s\n", device.name.c_str(),
               device.sm_count, device.runtime, device.driver, to_json(host).c_str());
}

int make_experiments(const Options& options) {
  OutputFile output(options.output);
  std::unique_ptr<Worker> nobody;
  if (options.times > 0) nobody = worker(options, Observer::kNobody);
  const HostSpeed host = measure_host_speed();
  if (nobody != nullptr) nobody->wait_until_open();
  const DeviceInfo device = open_gpus(options);
  announce(device, host);
  const std::vector<Experiment> experiments = chosen(options, device.sm_count);
  if (experiments.empty()) fail_usage("--only matches no experiment; --list names them");
  ManagedBudget budget(options.share);
  Runner runner(static_cast<int>(options.device), options.peer, budget);
  const std::string problem = start_recording(options.device, options.peer);
  if (!problem.empty()) throw DeviceError(problem);
  Counts counts;
  for (std::uint32_t repeat = 1; repeat <= options.repeats; ++repeat) {
    for (std::size_t i = 0; i < experiments.size(); ++i) {
      make_one(runner, nobody.get(), options, experiments[i], i, repeat, to_json(host), output.get(), counts);
      std::fflush(output.get());
    }
  }
  if (counts.made == 0) throw DeviceError("no experiment could be made");
  output.finish();
  std::printf("%d experiments in %s; %d with times only, %d refused, %d left out, %d attempts repeated\n", counts.made,
              options.output.c_str(), counts.times_only, counts.refused, counts.left_out, counts.repeated);
  return 0;
}

std::string to_line(const Experiment& experiment, const std::array<std::vector<Timing>, kObservers>& runs,
                    const std::string& host) {
  std::string out = "{\"name\":\"" + experiment.name + "\",\"host\":" + host;
  for (std::size_t who = 0; who < kObservers; ++who) {
    out += std::string(",\"") + kObserverNames[who] + "\":[";
    for (const Timing& run : runs[who]) {
      out += std::string(out.back() == '[' ? "" : ",") + "{\"kernel_ns\":" + std::to_string(run.kernel_ns) +
             ",\"host_ns\":" + std::to_string(run.host_ns) + ",\"raw_faults\":" + std::to_string(run.raw_faults) +
             ",\"replays\":" + std::to_string(run.replays) + ",\"migrations\":" + std::to_string(run.migrations) +
             ",\"dropped\":" + std::to_string(run.dropped) + "}";
    }
    out += ']';
  }
  return out + "}\n";
}

int compare_observers(const Options& options) {
  OutputFile output(options.observer);
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::size_t who = 0; who < kObservers; ++who) workers.push_back(worker(options, static_cast<Observer>(who)));
  const HostSpeed host = measure_host_speed();
  for (const auto& each : workers) each->wait_until_open();
  const DeviceInfo device = open_gpus(options);
  announce(device, host);
  const std::vector<Experiment> experiments = chosen(options, device.sm_count);
  if (experiments.empty()) fail_usage("--only matches no experiment; --list names them");
  int made = 0;
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    try {
      std::array<std::vector<Timing>, kObservers> runs;
      for (std::uint32_t run = 0; run < options.times; ++run) {
        for (std::size_t who = 0; who < kObservers; ++who) runs[who].push_back(workers[who]->run(i));
      }
      std::fputs(to_line(experiments[i], runs, to_json(host)).c_str(), output.get());
      std::fflush(output.get());
      ++made;
    } catch (const Refusal& refusal) {
      std::fprintf(stderr, "uvm_experiments: error: %s refused: %s\n", experiments[i].name.c_str(), refusal.what());
    }
  }
  if (made == 0) throw DeviceError("no experiment could be made");
  output.finish();
  std::printf("%d experiments under %zu observers in %s\n", made, kObservers, options.observer.c_str());
  return 0;
}

// If the program ends early, the written part stays in the .part file.
int make_calls(const Options& options) {
  // before any other CUDA call of this process
  const FirstCalls first = time_first_calls(static_cast<int>(options.device));
  announce(open_gpus(options), measure_host_speed());
  ManagedBudget budget(options.share);
  OutputFile output(options.calls);
  std::fputs(to_line(first).c_str(), output.get());
  CallRunner runner(static_cast<int>(options.device), budget);
  Counts counts;
  for (std::uint32_t pass = 1; pass <= options.repeats; ++pass) {
    for (const CallProgram& program : call_programs()) {
      if (program.name.find(options.only) == std::string::npos) continue;
      try {
        std::fputs(to_line(program, runner.run(program), pass).c_str(), output.get());
        std::fflush(output.get());
        ++counts.made;
      } catch (const Refusal& refusal) {
        std::fprintf(stderr, "uvm_experiments: error: %s refused: %s\n", program.name.c_str(), refusal.what());
        ++counts.refused;
      }
    }
  }
  if (counts.made == 0) throw DeviceError("no program could be made; does --only match one?");
  output.finish();
  std::printf("%d timed programs in %s; %d refused\n", counts.made, options.calls.c_str(), counts.refused);
  return 0;
}

// A log of raw faults: one section per experiment.
int make_raw_faults(const Options& options) {
  const DeviceInfo device = open_gpus(options);
  announce(device, measure_host_speed());
  OutputFile output(options.raw_faults);
  ManagedBudget budget(options.share);
  std::vector<FaultExperiment> experiments;
  std::uint32_t most_blocks = 1;
  for (FaultExperiment& experiment : fault_experiments(device.sm_count, options.quick)) {
    if (experiment.name.find(options.only) == std::string::npos) continue;
    most_blocks = std::max(most_blocks, experiment.grid);
    experiments.push_back(std::move(experiment));
  }
  if (experiments.empty()) fail_usage("--only matches no experiment");
  FaultRunner runner(budget, most_blocks);
  const auto put = [&](const std::string& bytes) { std::fwrite(bytes.data(), 1, bytes.size(), output.get()); };
  put(header_line("faults", {device.name, static_cast<int>(device.sm_count), 0, 0, device.driver}).finish());
  Counts counts;
  for (const FaultExperiment& experiment : experiments) {
    try {
      put(runner.run(experiment));
      ++counts.made;
    } catch (const Refusal& refusal) {
      std::fprintf(stderr, "uvm_experiments: error: %s refused: %s\n", experiment.name.c_str(), refusal.what());
      ++counts.refused;
    }
  }
  if (counts.made == 0) throw DeviceError("no experiment could be made");
  put(faults::end_line(runner.dropped(), {}));
  output.finish();
  std::printf("%d experiments in %s; %d refused, %llu events dropped\n", counts.made, options.raw_faults.c_str(),
              counts.refused, static_cast<unsigned long long>(runner.dropped()));
  return runner.dropped() == 0 ? 0 : kExitFailed;
}

int make_beyond(const Options& options) {
  OutputFile output(options.output);
  const std::string problem = start_recording(options.device, kNoPeer);
  if (!problem.empty()) throw DeviceError(problem);
  std::set<std::string> made;
  for (BeyondRun run : beyond_runs(free_memory().device_bytes, options.seed)) {
    if (run.name.find(options.only) == std::string::npos) continue;
    if (made.count(run.cold_run) == 0) run.cold_run.clear();
    try {
      std::fputs(to_line(run, run_beyond(run)).c_str(), output.get());
      made.insert(run.name);
    } catch (const Refusal& refusal) {
      std::fprintf(stderr, "uvm_experiments: error: %s refused: %s\n", run.name.c_str(), refusal.what());
    }
  }
  if (made.empty()) throw DeviceError("no program could be run");
  output.finish();
  std::printf("%zu programs in %s\n", made.size(), options.output.c_str());
  return 0;
}

int run(const Options& options) {
  if (options.list) {
    const std::vector<Experiment> experiments = chosen(options, ListOptions{}.sm_count);
    if (experiments.empty()) fail_usage("--only matches no experiment; --list names them");
    for (const Experiment& experiment : experiments) {
      std::printf("%-36s %-12s %12llu bytes, %zu touches, %s\n", experiment.name.c_str(), mode_text(experiment).c_str(),
                  static_cast<unsigned long long>(experiment.bytes), experiment.touches.size(),
                  experiment.advise.c_str());
    }
    return 0;
  }
  if (options.oversubscribe) {
    announce(open_gpus(options), measure_host_speed());
    return make_beyond(options);
  }
  if (!options.output.empty()) return make_experiments(options);
  if (!options.observer.empty()) return compare_observers(options);
  if (!options.calls.empty()) return make_calls(options);
  if (!options.raw_faults.empty()) return make_raw_faults(options);
  announce(open_gpus(options), measure_host_speed());
  OutputFile output(options.costs);
  ManagedBudget budget(options.share);
  print_cost_tables(output.get(), budget);
  output.finish();
  std::printf("costs in %s\n", options.costs.c_str());
  return 0;
}

}  // namespace
}  // namespace uvmtrace::ground_truth

int main(int count, char** arguments) {
  using namespace uvmtrace::ground_truth;
  const Options options = parse(count, arguments);
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "uvm_experiments: error: %s\n", error.what());
    return kExitFailed;
  }
}
