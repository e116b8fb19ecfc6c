// SPDX-License-Identifier: Apache-2.0
// uvm_experiments: ground truth for `uvmsim validate` and `uvmsim calibrate` from this machine's GPU and driver.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

#include "tracer/ground_truth/cost_tables.h"
#include "tracer/ground_truth/cupti_recorder.h"
#include "tracer/ground_truth/device.h"
#include "tracer/ground_truth/experiment.h"
#include "tracer/ground_truth/oversubscription.h"
#include "tracer/ground_truth/run_beyond.h"
#include "tracer/ground_truth/run_experiment.h"

namespace uvmtrace::ground_truth {
namespace {

constexpr int kExitFailed = 1, kExitUsage = 2;
constexpr int kAttempts = 3;  // of an experiment whose records were dropped

constexpr const char* kUsage =
    R"(usage: uvm_experiments [options] --output FILE.jsonl     experiments with known accesses
       uvm_experiments [options] --peer N --output FILE    the same, of memory that GPU N has at first
       uvm_experiments [options] --costs FILE.txt          what calls and copies cost
       uvm_experiments [options] --list                    the experiments, without a GPU
       uvm_experiments --oversubscribe --i-know-this-can-hang-the-gpu --output FILE    programs beyond GPU memory

Makes small programs fault on managed memory and writes what CUPTI saw, one experiment per line, for
`uvmsim validate` and `uvmsim calibrate`. Leave the GPU alone meanwhile.

  --only TEXT     experiments whose name contains TEXT
  --repeats N     each N times (default 1); later ones are called NAME_rep2, ...
  --seed N        of the random lists (default 1)
  --quick         a tenth of the experiments, none above 16 MB
  --device N      GPU (default 0)
  --peer N        another GPU that it reaches over NVLink
  --share PERCENT of the free memory that may become managed memory (default 25, at most 50)

Managed memory never exceeds that share of what the GPU has free, nor half of what the host has free.
Experiments that would are refused; those whose records CUPTI dropped are repeated, then left out.

--oversubscribe does the opposite: programs that need 1.3 times the memory that the GPU has free, so that the driver
evicts. Some drivers and GPUs hang then until the machine is restarted, and everybody else on the GPU waits. Never on a
GPU that you share; --i-know-this-can-hang-the-gpu must say that you know. --only, --seed and --device apply.
)";

struct Options {
  std::string output, costs, only;
  bool list = false, quick = false;
  bool oversubscribe = false, acknowledged = false;
  std::uint32_t repeats = 1, share = kDefaultSharePercent, device = 0;
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
    const bool known = word == "--output" || word == "-o" || word == "--costs" || word == "--only" ||
                       word == "--repeats" || word == "--seed" || word == "--device" || word == "--peer" ||
                       word == "--share";
    if (!known) fail_usage("unknown argument '" + word + "'; --help shows what there is");
    if (++i == count) fail_usage(word + " needs a value");
    const char* value = arguments[i];
    if (word == "--output" || word == "-o") options.output = value;
    if (word == "--costs") options.costs = value;
    if (word == "--only") options.only = value;
    if (word == "--repeats") options.repeats = static_cast<std::uint32_t>(number(word, value, 1, 1000));
    if (word == "--seed") options.seed = number(word, value, 0, 1000000000);
    if (word == "--device") options.device = static_cast<std::uint32_t>(number(word, value, 0, 255));
    if (word == "--peer") options.peer = static_cast<int>(number(word, value, 0, 255));
    if (word == "--share") options.share = static_cast<std::uint32_t>(number(word, value, 1, kLargestSharePercent));
  }
  if (!options.list && options.output.empty() && options.costs.empty()) {
    fail_usage("nothing to do: give --output, --costs or --list; --help explains");
  }
  if (!options.output.empty() && !options.costs.empty()) {
    fail_usage("--output and --costs exclude each other: recording would be part of the costs");
  }
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

// Beside the target until it is whole.
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
  int made = 0, refused = 0, left_out = 0, repeated = 0;
};

void make_one(Runner& runner, const Experiment& experiment, std::uint32_t repeat, std::FILE* out, Counts& counts) {
  std::string reason;
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    Measurement measurement;
    try {
      measurement = runner.run(experiment);
    } catch (const Refusal& refusal) {
      std::fprintf(stderr, "uvm_experiments: error: %s refused: %s\n", experiment.name.c_str(), refusal.what());
      ++counts.refused;
      return;
    }
    reason = defect(experiment, measurement);
    if (reason.empty()) {
      std::fputs(to_line(experiment, measurement, repeat).c_str(), out);
      ++counts.made;
      return;
    }
    ++counts.repeated;
  }
  std::fprintf(stderr, "uvm_experiments: %s left out after %d attempts: %s\n", experiment.name.c_str(), kAttempts,
               reason.c_str());
  ++counts.left_out;
}

int make_experiments(const Options& options, const std::vector<Experiment>& experiments, ManagedBudget& budget) {
  OutputFile output(options.output);
  Runner runner(static_cast<int>(options.device), options.peer, budget);
  const std::string problem = start_recording(options.device, options.peer);
  if (!problem.empty()) throw DeviceError(problem);
  Counts counts;
  for (std::uint32_t repeat = 1; repeat <= options.repeats; ++repeat) {
    for (const Experiment& experiment : experiments) make_one(runner, experiment, repeat, output.get(), counts);
  }
  if (counts.made == 0) throw DeviceError("no experiment could be made");
  output.finish();
  std::printf("%d experiments in %s; %d refused, %d left out, %d attempts repeated\n", counts.made,
              options.output.c_str(), counts.refused, counts.left_out, counts.repeated);
  return 0;
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
  ListOptions list;
  list.seed = options.seed;
  list.quick = options.quick;
  DeviceInfo device;
  if (!options.list) {
    device = open_device(static_cast<int>(options.device));
    if (options.peer != kNoPeer) open_peer(static_cast<int>(options.device), options.peer);
    list.sm_count = device.sm_count;
    std::fprintf(stderr, "uvm_experiments: %s, %u SMs, CUDA %d (driver supports %d)\n", device.name.c_str(),
                 device.sm_count, device.runtime, device.driver);
  }
  if (options.oversubscribe) return make_beyond(options);
  std::vector<Experiment> experiments;
  for (Experiment& experiment : options.peer == kNoPeer ? default_experiments(list) : peer_experiments(list)) {
    if (experiment.name.find(options.only) != std::string::npos) experiments.push_back(std::move(experiment));
  }
  if (experiments.empty() && options.costs.empty()) fail_usage("--only matches no experiment; --list names them");
  if (options.list) {
    for (const Experiment& experiment : experiments) {
      std::printf("%-36s %-12s %12llu bytes, %zu touches, %s\n", experiment.name.c_str(), mode_text(experiment).c_str(),
                  static_cast<unsigned long long>(experiment.bytes), experiment.touches.size(),
                  experiment.advise.c_str());
    }
    return 0;
  }
  ManagedBudget budget(options.share);
  if (!options.costs.empty()) {
    OutputFile output(options.costs);
    print_cost_tables(output.get(), budget);
    output.finish();
    std::printf("costs in %s\n", options.costs.c_str());
    return 0;
  }
  return make_experiments(options, experiments, budget);
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
