// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/run_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "sim/cli/result_output.h"
#include "sim/common/error.h"
#include "sim/config/quantity.h"
#include "sim/policy/registry.h"
#include "sim/sweep/values.h"

namespace uvmsim::cli {
namespace {

// Options of the machine and of where the program's memory lies.
const std::vector<Option> kMachine = {
    {"system", "SYSTEM", "the GPU server: a name, or the path of a JSON file"},
    {"osf", "X[,Y...]", "oversubscription factors above 0, such as 1.25; several run one after another", kRepeatable},
    {"capacity-bytes", "SIZE", "GPU memory for managed data, instead of --osf"},
    {"footprint", "KIND",
     "footprint that --osf divides: allocated (default), or touched: memory counts from its first to its last touch"},
    {"footprint-bytes", "SIZE", "footprint that --osf divides, instead of the measured one"},
    {"hypothetical-capacity", "",
     "allow a limit of more memory than the GPU has, or without a limit as much as the program needs; results say so"},
    {"host-capacity-bytes", "SIZE",
     "host memory for managed data, above the system's SSD: --set host.memory_bytes=SIZE"},
    {"layout", "NAME[:key=value,...]",
     "where memory lies: recorded (default), none (each tensor by itself), ...; see `uvmsim layouts`"}};

// Options of how the program runs.
const std::vector<Option> kProgram = {
    kPlugins,
    kSettings,
    {"seed", "N", "seed of policies that draw random numbers, default 1"},
    {"seeds", "N",
     "run N seeds, from --seed on; tables show the mean, and the shortest and the longest time; default 1"},
    {"iterations", "N",
     "marked iterations to run: N of them, `recorded`, or `settled` (default): until the run has settled, at most 64"},
    {"replay-all", "", "replay every iteration; else those that begin as an earlier one did are counted as it ran"},
    {"time-scale", "X",
     "factor of kernel durations, or auto (default): by a roofline, from the GPU of the recording to the system's"},
    {"recorded-on", "SYSTEM", "system whose GPU made the recording, if the trace's header does not tell"},
    {"no-host-gaps", "", "leave out the recorded host time between calls"},
    {"partial", "", "of a trace that is cut off, use what is whole instead of refusing it"}};

std::vector<Option> joined(std::initializer_list<std::vector<Option>> groups) {
  std::vector<Option> all;
  for (const std::vector<Option>& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

std::vector<std::uint64_t> factors_of(const Texts& texts) {
  if (texts.empty()) return {};
  return sweep::parse_osf_list("--osf", fmt::format("{}", fmt::join(texts, ",")));
}

// Returns 0 if the option is not given.
std::uint64_t size_of_option(const Values& values, std::string_view name, std::uint64_t minimum) {
  const std::uint64_t bytes = values.size(name, 0);
  if (values.given(name) && bytes < minimum) {
    throw_input_error("--{}: {} is too small; allowed: at least {} bytes{}", name, *values.text(name), minimum,
                      minimum == kBlockBytes ? " (one 2 MiB chunk)" : "");
  }
  return bytes;
}

// Parses a grid: "512x256"
report::ProfileGrid parse_grid(const std::string& option, const std::string& text) {
  constexpr std::uint64_t kMost = 4096;
  const std::size_t x = text.find('x');
  if (x == std::string::npos) {
    throw_input_error("{}: '{}' is no grid; allowed: TIMESxADDRESSES, such as 512x256", option, text);
  }
  const std::uint64_t times = sweep::parse_unsigned(option, text.substr(0, x));
  const std::uint64_t addresses = sweep::parse_unsigned(option, text.substr(x + 1));
  if (times == 0 || addresses == 0 || times > kMost || addresses > kMost) {
    throw_input_error("{}: {} is out of range; allowed: 1x1 to {}x{}", option, text, kMost, kMost);
  }
  return {static_cast<std::uint32_t>(times), static_cast<std::uint32_t>(addresses)};
}

// Parses a window: "iterations=2..2", "kernels=100..200", "time=1.5ms..2ms"
report::TimelineWindow parse_window(const std::string& option, const std::string& text) {
  using By = report::TimelineWindow::By;
  constexpr std::pair<std::string_view, By> kKinds[] = {
      {"iterations", By::kIterations}, {"kernels", By::kKernels}, {"time", By::kTime}};
  const auto wrong = [&] {
    throw_input_error(
        "{}: '{}' is no window; allowed: iterations=A..B, kernels=A..B from 1, or time=A..B such as time=10ms..12ms",
        option, text);
  };
  const std::size_t equals = text.find('='), dots = text.find("..", equals == std::string::npos ? 0 : equals);
  if (equals == std::string::npos || dots == std::string::npos) wrong();
  const auto kind = std::ranges::find_if(kKinds, [&](const auto& one) { return one.first == text.substr(0, equals); });
  if (kind == std::end(kKinds)) wrong();
  const auto number = [&](const std::string& one) {
    if (kind->second != By::kTime) {
      if (one.empty() || one.find_first_not_of("0123456789") != std::string::npos) wrong();
      return sweep::parse_unsigned(option, one);
    }
    const config::ParsedQuantity time = config::parse_quantity(one, config::Unit::kNanoseconds);
    if (!time.value) wrong();
    return *time.value;
  };
  const report::TimelineWindow window{kind->second, number(text.substr(equals + 1, dots - equals - 1)),
                                      number(text.substr(dots + 2))};
  if (window.first > window.last || (window.by == By::kKernels && window.first == 0)) wrong();
  return window;
}

void check_program(const RunArguments& run) {
  if (run.capacity_bytes != 0 && !run.osf_thousandths.empty()) {
    throw_input_error("--osf and --capacity-bytes both set the capacity; give one of them");
  }
  if (run.capacity_bytes != 0 && run.shared.footprint_bytes != 0) {
    throw_input_error("--footprint-bytes has no effect with --capacity-bytes; give one of them");
  }
  if (run.shared.touched_footprint && run.shared.footprint_bytes != 0) {
    throw_input_error("--footprint touched and --footprint-bytes both say what --osf divides; give one of them");
  }
  if (run.shared.time_scale_millionths != 0 && !run.shared.recorded_on.empty()) {
    throw_input_error("--recorded-on has no effect with a fixed --time-scale; give one of them");
  }
}

void check_outputs_of(const RunArguments& run) {
  for (const auto& [file, name] : {std::pair{&run.timeline, "--timeline"}, std::pair{&run.profile, "--profile"}}) {
    if (*file && run.osf_thousandths.size() > 1) {
      throw_input_error("{} shows one run; give one --osf, not {}", name, run.osf_thousandths.size());
    }
    if (*file && run.uncertainty) throw_input_error("{} shows one run; run --uncertainty without it", name);
    if (*file && run.seeds > 1) throw_input_error("{} shows one run; give --seed, not --seeds", name);
  }
  // A timeline and a profile are files, even if they are called "-".
  const auto file = [](const std::optional<std::string>& path) { return path == "-" ? std::nullopt : path; };
  check_outputs(
      {{"--json", run.json}, {"--csv", run.csv}, {"--timeline", file(run.timeline)}, {"--profile", file(run.profile)}});
}

// Parses a pair: "tree+lrm", "tree:threshold=75+lru"
PolicyPair parse_pair(const std::string& option, const std::string& text) {
  const std::size_t plus = text.find('+');
  if (plus == std::string::npos || text.find('+', plus + 1) != std::string::npos) {
    throw_input_error("{}: '{}' is no pair of policies; allowed: PREFETCH+EVICT, such as tree+lru, or all", option,
                      text);
  }
  return {sweep::parse_policy(option, text.substr(0, plus)), sweep::parse_policy(option, text.substr(plus + 1))};
}

// Reads the options that `run` and `bounds` share.
RunArguments read_shared(const std::string& command, const Values& values) {
  const std::string& trace =
      values.first(fmt::format("{0}: no trace given; `uvmsim {0} --help` shows examples", command));
  RunArguments run = read_program_options(command, values);
  run.shared.trace = trace;
  run.verbose = values.given("verbose");
  run.json = values.text("json");
  for (const std::string& text : values.texts("best-of")) {
    if (text == "all") {
      run.best_of_all = true;
    } else {
      run.best_of.push_back(parse_pair("--best-of", text));
    }
  }
  return run;
}

}  // namespace

std::vector<Option> program_options() { return joined({kMachine, kProgram}); }

std::vector<Option> replay_options() {
  std::vector<Option> options;
  for (const Option& option : program_options()) {
    for (const std::string_view name :
         {"layout", "set", "seed", "iterations", "time-scale", "recorded-on", "no-host-gaps", "partial"}) {
      if (option.name == name) options.push_back(option);
    }
  }
  return options;
}

std::vector<Option> policy_options() {
  std::vector<Option> policies;
  for (const policy::Slot slot : kPolicySlots) {
    policies.push_back({policy::slot_name(slot), "NAME[:key=value,...]", slot_info(slot).option_help});
  }
  return policies;
}

void read_policies(const Values& values, RunArguments& run) {
  for (const policy::Slot slot : kPolicySlots) {
    const std::string name(policy::slot_name(slot));
    if (const auto text = values.text(name)) run.shared.*choice_of(slot) = sweep::parse_policy("--" + name, *text);
  }
}

std::vector<Option> run_options() {
  const std::vector<Option> own = {
      {"until-settled", "", "end when the run has settled, as without --iterations: its N are the most that run"},
      {"no-unlimited-run", "", "do not also run what slowdowns divide by: the driver's own policies with room for all"},
      {"uncertainty", "",
       "how sure the result is: also run with driver costs, link and host as fast and as slow as machines differ, and "
       "say the range"},
      {"bounds", "", "how far the result is from the best lower bound, and what lies between"},
      {"best-of", "PREFETCH+EVICT",
       "with --bounds: also run these policies, or all pairs of them with `all`, and compare with the fastest; may be "
       "repeated",
       kRepeatable},
      {"explain-columns", "", "print what every column and counter means, and run nothing; with --json as JSON"},
      {"json", "FILE", "write results as JSON, one line per run; - is standard output"},
      {"csv", "FILE", "write results as CSV, one row per iteration and one per run; - is standard output"},
      {"timeline", "FILE", "write a timeline for ui.perfetto.dev (of one run), compressed if FILE ends in .gz"},
      {"timeline-window", "KIND=A..B",
       "only iterations=2..2, kernels=100..200 (by their start, from 1) or time=10ms..12ms of it"},
      {"profile", "FILE",
       "write an SQLite file of who faulted, waited and moved (kernels, layers, tensors) and what was resident when "
       "(of "
       "one run)"},
      {"profile-grid", "TIMESxADDRESSES", "buckets of the profile's heat maps, default 512x256"},
      kVerbose,
      kHelp};
  return joined({kMachine, policy_options(), kProgram, own});
}

std::vector<Option> bounds_options() {
  const std::vector<Option> own = {
      {"best-of", "PREFETCH+EVICT",
       "also simulate these policies, or all pairs of them with `all`, and compare the fastest with the bound; may be "
       "repeated",
       kRepeatable},
      {"json", "FILE", "write the bounds as JSON, one line per limit; - is standard output"},
      kVerbose,
      kHelp};
  return joined({kMachine, kProgram, own});
}

RunArguments read_program_options(const std::string& command, const Values& values) {
  RunArguments run;
  run.shared.system =
      values.required("system", command + ": option --system is missing; `uvmsim systems` lists what it takes");
  read_replay_options(values, run);
  return run;
}

void read_replay_options(const Values& values, RunArguments& run) {
  sweep::Point& shared = run.shared;
  shared.settings = values.texts("set");
  if (values.given("host-capacity-bytes")) {
    shared.settings.push_back(fmt::format("host.memory_bytes={}", values.size("host-capacity-bytes", 0)));
  }
  run.osf_thousandths = factors_of(values.texts("osf"));
  run.capacity_bytes = size_of_option(values, "capacity-bytes", kBlockBytes);
  shared.footprint_bytes = size_of_option(values, "footprint-bytes", 1);
  shared.touched_footprint = sweep::parse_footprint("--footprint", values.text("footprint").value_or("allocated"));
  shared.hypothetical_capacity = values.given("hypothetical-capacity");
  shared.layout = layout::given_text(sweep::parse_layout("--layout", values.text("layout").value_or("recorded")));
  shared.plugins = values.texts("plugin");
  shared.seed = values.number("seed", 1);
  run.seeds = values.number("seeds", 1, {.least = 1, .most = 1000, .as_typed = true});
  sweep::parse_iterations("--iterations", values.text("iterations"), shared);
  shared.time_scale_millionths = sweep::parse_time_scale("--time-scale", values.text("time-scale").value_or("auto"));
  shared.recorded_on = values.text("recorded-on").value_or("");
  shared.include_host_gaps = !values.given("no-host-gaps");
  shared.replay_all = values.given("replay-all");
  shared.partial = values.given("partial");
  check_program(run);
}

RunArguments read_run_options(const Values& values) {
  RunArguments run = read_shared("run", values);
  read_policies(values, run);
  run.unlimited_run = !values.given("no-unlimited-run");
  run.bounds = values.given("bounds");
  run.uncertainty = values.given("uncertainty");
  run.shared.until_settled = values.given("until-settled");
  sweep::check_iterations(run.shared, "--iterations");
  if (run.shared.iterations == 0) run.shared.until_settled = false;  // 0 means until settled, which is the default
  run.csv = values.text("csv");
  run.timeline = values.text("timeline");
  run.profile = values.text("profile");
  if (const auto window = values.text("timeline-window")) {
    run.timeline_window = parse_window("--timeline-window", *window);
    if (!run.timeline) throw_input_error("--timeline-window has no effect without --timeline");
  }
  if (const auto grid = values.text("profile-grid")) {
    run.profile_grid = parse_grid("--profile-grid", *grid);
    if (!run.profile) throw_input_error("--profile-grid has no effect without --profile");
  }
  if (!run.bounds && values.given("best-of")) throw_input_error("--best-of has no effect without --bounds");
  check_outputs_of(run);
  return run;
}

RunArguments read_bounds_options(const Values& values) { return read_shared("bounds", values); }

std::vector<sweep::Point> points_of(const RunArguments& run) {
  std::vector<sweep::Point> limits;
  if (run.capacity_bytes != 0) {
    limits.push_back(run.shared);
    limits.back().capacity_bytes = run.capacity_bytes;
  }
  for (const std::uint64_t osf : run.osf_thousandths) {
    limits.push_back(run.shared);
    limits.back().osf_thousandths = osf;
  }
  if (limits.empty()) limits.push_back(run.shared);
  std::vector<sweep::Point> points;
  for (const sweep::Point& limit : limits) {
    for (std::uint64_t seed = 0; seed < run.seeds; ++seed) {
      points.push_back(limit);
      points.back().seed += seed;
    }
  }
  return points;
}

}  // namespace uvmsim::cli
