// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/run_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include "sim/cli/options.h"
#include "sim/cli/run_to_points.h"
#include "sim/cli/run_usage.h"
#include "sim/cli/values.h"
#include "sim/common/error.h"
#include "sim/config/quantity.h"
#include "sim/policy/registry.h"

namespace uvmsim::cli {
namespace {

namespace po = boost::program_options;

using Text = std::string;
using Texts = std::vector<std::string>;

auto text_value(const char* name) { return po::value<Text>()->value_name(name); }
auto texts_value(const char* name) { return po::value<Texts>()->composing()->value_name(name); }
auto flag_value() { return po::bool_switch(); }

// The machine and where the program's memory lies.
void add_machine(po::options_description& options) {
  auto add = options.add_options();
  add("system", text_value("SYSTEM"), "the GPU server: a name, or the path of a JSON file");
  add("osf", texts_value("X[,Y...]"), "oversubscription factors above 0, such as 1.25; several run one after another");
  add("capacity-bytes", text_value("SIZE"), "GPU memory for managed data, instead of --osf");
  add("footprint", text_value("KIND"),
      "footprint that --osf divides: allocated (default), or touched: memory counts from its first to its last touch");
  add("footprint-bytes", text_value("SIZE"), "footprint that --osf divides, instead of the measured one");
  add("hypothetical-capacity", flag_value(), "allow a limit of more memory than the GPU has; results say so");
  add("host-capacity-bytes", text_value("SIZE"),
      "host memory for managed data, above the system's SSD: --set host.memory_bytes=SIZE");
  add("layout", text_value("NAME[:key=value,...]"),
      "where memory lies: recorded (default), none (each tensor by itself), ...; see `uvmsim layouts`");
}

// How the program runs.
void add_program(po::options_description& options) {
  auto add = options.add_options();
  add("plugin", texts_value("FILE"),
      "load policies from a shared library, a file or a name in the search path; may be repeated");
  add("set", texts_value("KEY=VALUE"), "change one number of the system; may be repeated");
  add("seed", text_value("N"), "seed of policies that draw random numbers, default 1");
  add("seeds", text_value("N"),
      "run N seeds, from --seed on; tables show the mean, and the shortest and the longest time; default 1");
  add("iterations", text_value("N"),
      "marked iterations to run: the last recorded one is repeated; default as recorded");
  add("replay-all", flag_value(),
      "replay every iteration; else those that begin as an earlier one did are counted as it ran");
  add("time-scale", text_value("X"),
      "factor of kernel durations, or auto (default): by a roofline, from the GPU of the recording to the system's");
  add("recorded-on", text_value("SYSTEM"), "system whose GPU made the recording, if the trace's header does not tell");
  add("no-host-gaps", flag_value(), "leave out the recorded host time between calls");
  add("partial", flag_value(), "of a trace that is cut off, use what is whole instead of refusing it");
}

void add_best_of(po::options_description& options, const char* purpose) {
  options.add_options()("best-of", texts_value("PREFETCH+EVICT"), purpose);
}

void add_verbose_and_help(po::options_description& options) {
  auto add = options.add_options();
  add("verbose", flag_value(), "say on standard error what is being done");
  add("help,h", flag_value(), "print this text");
}

po::options_description run_options() {
  po::options_description options("Options", 110, 70);
  add_machine(options);
  auto add = options.add_options();
  for (const policy::Slot slot : kPolicySlots) {
    add(std::string(policy::slot_name(slot)).c_str(), text_value("NAME[:key=value,...]"), slot_info(slot).option_help);
  }
  add_program(options);
  add("until-settled", flag_value(),
      "end when the run has settled (sim/report/README.md): --iterations are the most that run");
  add("no-unlimited-run", flag_value(),
      "do not also run what slowdowns divide by: the driver's own policies, the GPU's whole memory");
  add("bounds", flag_value(), "how far the result is from the best lower bound, and what lies between");
  add_best_of(options,
              "with --bounds: also run these policies, or all pairs of them with `all`, and compare with the fastest; "
              "may be repeated");
  add("explain-columns", flag_value(),
      "print what every column and counter means, and run nothing; with --json as JSON");
  add("json", text_value("FILE"), "write results as JSON, one line per run; - is standard output");
  add("csv", text_value("FILE"), "write results as CSV, one row per iteration and one per run; - is standard output");
  add("timeline", text_value("FILE"),
      "write a timeline for ui.perfetto.dev (of one run), compressed if FILE ends in .gz");
  add("timeline-window", text_value("KIND=A..B"),
      "only iterations=2..2, kernels=100..200 (by their start, from 1) or time=10ms..12ms of it");
  add("profile", text_value("FILE"),
      "write an SQLite file of who faulted, waited and moved (kernels, layers, tensors) and what was resident when (of "
      "one "
      "run)");
  add("profile-grid", text_value("TIMESxADDRESSES"), "buckets of the profile's heat maps, default 512x256");
  add_verbose_and_help(options);
  return options;
}

po::options_description bounds_options() {
  po::options_description options("Options", 110, 70);
  add_machine(options);
  add_program(options);
  add_best_of(options,
              "also simulate these policies, or all pairs of them with `all`, and compare the fastest with the bound; "
              "may be repeated");
  options.add_options()("json", text_value("FILE"),
                        "write the bounds as JSON, one line per limit; - is standard output");
  add_verbose_and_help(options);
  return options;
}

class RunValues {
 public:
  explicit RunValues(const po::variables_map& values) : values_(values) {}
  std::optional<std::string> text(const char* name) const {
    if (values_.count(name) == 0) return std::nullopt;
    return values_[name].as<std::string>();
  }
  std::vector<std::string> texts(const char* name) const {
    if (values_.count(name) == 0) return {};
    return values_[name].as<std::vector<std::string>>();
  }
  bool flag(const char* name) const { return values_[name].as<bool>(); }

 private:
  const po::variables_map& values_;
};

std::vector<std::uint64_t> factors_of(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : ",") + text;
  return texts.empty() ? std::vector<std::uint64_t>{} : parse_osf_list("--osf", joined);
}

std::uint64_t size_of_option(const RunValues& values, const char* name, std::uint64_t minimum) {
  const auto text = values.text(name);
  if (!text) return 0;
  const std::string option = std::string("--") + name;
  const std::uint64_t bytes = parse_size(option, *text);
  if (bytes < minimum) {
    throw_input_error("{}: {} is too small; allowed: at least {} bytes{}", option, *text, minimum,
                      minimum == kBlockBytes ? " (one 2 MiB chunk)" : "");
  }
  return bytes;
}

// "512x256"
report::ProfileGrid parse_grid(const std::string& option, const std::string& text) {
  constexpr std::uint64_t kMost = 4096;
  const std::size_t x = text.find('x');
  if (x == std::string::npos) {
    throw_input_error("{}: '{}' is no grid; allowed: TIMESxADDRESSES, such as 512x256", option, text);
  }
  const std::uint64_t times = parse_unsigned(option, text.substr(0, x));
  const std::uint64_t addresses = parse_unsigned(option, text.substr(x + 1));
  if (times == 0 || addresses == 0 || times > kMost || addresses > kMost) {
    throw_input_error("{}: {} is out of range; allowed: 1x1 to {}x{}", option, text, kMost, kMost);
  }
  return {static_cast<std::uint32_t>(times), static_cast<std::uint32_t>(addresses)};
}

// "iterations=2..2", "kernels=100..200", "time=1.5ms..2ms"
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
  const auto kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                 [&](const auto& one) { return one.first == text.substr(0, equals); });
  if (kind == std::end(kKinds)) wrong();
  const auto number = [&](const std::string& one) {
    if (kind->second != By::kTime) {
      if (one.empty() || one.find_first_not_of("0123456789") != std::string::npos) wrong();
      return parse_unsigned(option, one);
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

std::uint64_t parse_seeds(const std::optional<std::string>& text) {
  constexpr std::uint64_t kMost = 1000;
  if (!text) return 1;
  const std::uint64_t seeds = parse_unsigned("--seeds", *text);
  if (seeds == 0 || seeds > kMost) throw_input_error("--seeds: {} is not allowed; allowed: 1 to {}", *text, kMost);
  return seeds;
}

void check_program(const RunArguments& run) {
  if (run.capacity_bytes != 0 && !run.osf_thousandths.empty()) {
    throw_input_error("--osf and --capacity-bytes both set the capacity; give one of them");
  }
  if (run.capacity_bytes != 0 && run.footprint_bytes != 0) {
    throw_input_error("--footprint-bytes has no effect with --capacity-bytes; give one of them");
  }
  if (run.touched_footprint && run.footprint_bytes != 0) {
    throw_input_error("--footprint touched and --footprint-bytes both say what --osf divides; give one of them");
  }
  if (run.time_scale_millionths != 0 && !run.recorded_on.empty()) {
    throw_input_error("--recorded-on has no effect with a fixed --time-scale; give one of them");
  }
}

void check_outputs_of(const RunArguments& run) {
  for (const auto& [file, name] : {std::pair{&run.timeline, "--timeline"}, std::pair{&run.profile, "--profile"}}) {
    if (*file && run.osf_thousandths.size() > 1) {
      throw_input_error("{} shows one run; give one --osf, not {}", name, run.osf_thousandths.size());
    }
    if (*file && run.seeds > 1) throw_input_error("{} shows one run; give --seed, not --seeds", name);
  }
  if (run.json == "-" && run.csv == "-") {
    throw_input_error("--json and --csv cannot both go to standard output; give one of them a file");
  }
  const std::pair<const std::optional<std::string>*, const char*> files[] = {
      {&run.json, "--json"}, {&run.csv, "--csv"}, {&run.timeline, "--timeline"}, {&run.profile, "--profile"}};
  for (auto a = std::begin(files); a != std::end(files); ++a) {
    for (auto b = std::next(a); b != std::end(files); ++b) {
      if (!*a->first || *a->first != *b->first || **a->first == "-") continue;
      throw_input_error("{} and {} both name {}; give two files", a->second, b->second, **a->first);
    }
  }
}

// "tree+lrm", "tree:threshold=75+lru"
PolicyPair parse_pair(const std::string& option, const std::string& text) {
  const std::size_t plus = text.find('+');
  if (plus == std::string::npos || text.find('+', plus + 1) != std::string::npos) {
    throw_input_error("{}: '{}' is no pair of policies; allowed: PREFETCH+EVICT, such as tree+lru, or all", option,
                      text);
  }
  return {parse_policy(option, text.substr(0, plus)), parse_policy(option, text.substr(plus + 1))};
}

// What `run` and `bounds` share.
RunArguments read_shared(const std::string& command, const po::variables_map& parsed) {
  const auto positional = positional_arguments(parsed);
  if (positional.empty()) throw_input_error("{}: no trace given; `uvmsim {} --help` shows examples", command, command);
  const RunValues values(parsed);
  RunArguments run = read_program_options(command, parsed);
  run.trace = positional.front();
  run.verbose = values.flag("verbose");
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

RunArguments help_wanted() {
  RunArguments run;
  run.help = true;
  return run;
}

template <class Options>
std::string help_text(const char* usage, const Options& options, const char* notes) {
  std::ostringstream text;
  text << options;
  return usage + text.str() + notes;
}

void check_until_settled(const RunArguments& run) {
  sweep::Point point = shared_point(run);
  point.bounds = run.bounds;
  sweep::check_until_settled(point, "--until-settled");
}

}  // namespace

void add_program_options(po::options_description& options) {
  add_machine(options);
  add_program(options);
}

RunArguments read_program_options(const std::string& command, const po::variables_map& parsed) {
  const RunValues values(parsed);
  RunArguments run;
  const auto system = values.text("system");
  if (!system) throw_input_error("{}: option --system is missing; `uvmsim systems` lists what it takes", command);
  run.system = *system;
  run.settings = values.texts("set");
  if (const auto host = values.text("host-capacity-bytes")) {
    run.settings.push_back(fmt::format("host.memory_bytes={}", parse_size("--host-capacity-bytes", *host)));
  }
  run.osf_thousandths = factors_of(values.texts("osf"));
  run.capacity_bytes = size_of_option(values, "capacity-bytes", kBlockBytes);
  run.footprint_bytes = size_of_option(values, "footprint-bytes", 1);
  run.touched_footprint = parse_footprint("--footprint", values.text("footprint").value_or("allocated"));
  run.hypothetical_capacity = values.flag("hypothetical-capacity");
  run.layout = parse_layout("--layout", values.text("layout").value_or("recorded"));
  run.plugins = values.texts("plugin");
  run.seed = parse_unsigned("--seed", values.text("seed").value_or("1"));
  run.seeds = parse_seeds(values.text("seeds"));
  run.iterations = parse_iterations("--iterations", values.text("iterations"));
  run.time_scale_millionths = parse_time_scale("--time-scale", values.text("time-scale").value_or("auto"));
  run.recorded_on = values.text("recorded-on").value_or("");
  run.include_host_gaps = !values.flag("no-host-gaps");
  run.replay_all = values.flag("replay-all");
  run.partial = values.flag("partial");
  check_program(run);
  return run;
}

RunArguments parse_run_arguments(const std::vector<std::string>& arguments) {
  const auto parsed = parse_options("uvmsim run", arguments, run_options(), 1);
  const RunValues values(parsed);
  if (values.flag("help")) return help_wanted();

  if (values.flag("explain-columns")) {
    RunArguments wanted;
    wanted.explain_columns = true;
    wanted.json = values.text("json");
    return wanted;
  }
  RunArguments run = read_shared("run", parsed);
  for (const policy::Slot slot : kPolicySlots) {
    const std::string name(policy::slot_name(slot));
    if (const auto text = values.text(name.c_str())) run.*choice_of(slot) = parse_policy("--" + name, *text);
  }
  run.unlimited_run = !values.flag("no-unlimited-run");
  run.bounds = values.flag("bounds");
  run.until_settled = values.flag("until-settled");
  check_until_settled(run);
  run.csv = values.text("csv");
  run.timeline = values.text("timeline");
  run.profile = values.text("profile");
  if (const auto window = values.text("timeline-window")) {
    run.timeline_window = parse_window("--timeline-window", *window);
    if (!run.timeline) throw_input_error("--timeline-window has no effect without --timeline");
  }
  if (const auto grid = values.text("profile-grid")) run.profile_grid = parse_grid("--profile-grid", *grid);
  if (!run.profile && values.text("profile-grid")) throw_input_error("--profile-grid has no effect without --profile");
  if (!run.bounds && !values.texts("best-of").empty()) throw_input_error("--best-of has no effect without --bounds");
  check_outputs_of(run);
  return run;
}

RunArguments parse_bounds_arguments(const std::vector<std::string>& arguments) {
  const auto parsed = parse_options("uvmsim bounds", arguments, bounds_options(), 1);
  const RunValues values(parsed);
  if (values.flag("help")) return help_wanted();
  return read_shared("bounds", parsed);
}

std::string run_help() { return help_text(kRunUsage, run_options(), kRunNotes); }

std::string bounds_help() { return help_text(kBoundsUsage, bounds_options(), kBoundsNotes); }

}  // namespace uvmsim::cli
