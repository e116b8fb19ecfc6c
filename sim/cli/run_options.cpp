#include "sim/cli/run_options.h"

#include <iterator>
#include <sstream>
#include <utility>

#include "sim/cli/options.h"
#include "sim/cli/values.h"
#include "sim/common/error.h"

namespace uvmsim::cli {
namespace {

namespace po = boost::program_options;

constexpr const char* kUsage = R"(uvmsim run TRACE --system SYSTEM [options]

Replays a trace on a system and says how long it takes, what moved and why.

Examples:
  uvmsim run gpt2.uvmt --system h200-sxm-pcie5
      with all of the GPU's memory
  uvmsim run gpt2.uvmt --system h200-sxm-pcie5 --osf 1,1.25,1.5,2,4
      with so little memory that the program's footprint is 1, 1.25, ... times as large; one table
  uvmsim run gpt2.uvmt --system h200-sxm-pcie5 --osf 2 --prefetch tree:threshold=75 --json result.json
      another prefetch threshold; the whole result for a script

)";

constexpr const char* kNotes = R"(
OSF is the oversubscription factor: footprint / capacity, where the footprint is the peak of live managed bytes under
the chosen layout. Without --osf and --capacity-bytes the GPU's own memory is the capacity; a run with a limit is
compared with such a run ("no limit"). If the trace marks iterations, the last one is the settled one; with --iterations
all passes of the repeated one are, and the numbers are their means.
Sizes take a unit: 12GiB, 512MiB, 80GB. Results never contain a file's folder, a date or a machine's name.
`uvmsim systems` and `uvmsim policies` list what --system, --prefetch and --evict take; `uvmsim systems NAME` the keys
of --set.
)";

po::options_description run_options() {
  using Text = std::string;
  using Texts = std::vector<std::string>;
  const auto text = [](const char* name) { return po::value<Text>()->value_name(name); };
  const auto texts = [](const char* name) { return po::value<Texts>()->composing()->value_name(name); };
  const auto flag = [] { return po::bool_switch(); };
  po::options_description options("Options", 110, 70);
  auto add = options.add_options();
  add("system", text("SYSTEM"), "the GPU server: a name, or the path of a JSON file");
  add("osf", texts("X[,Y...]"), "oversubscription factors above 0, such as 1.25; several run one after another");
  add("capacity-bytes", text("SIZE"), "GPU memory for managed data, instead of --osf");
  add("footprint-bytes", text("SIZE"), "footprint that --osf divides, instead of the measured one");
  add("layout", text("NAME[:key=value,...]"),
      "where memory lies: recorded (default), none (each tensor by itself), ...; see `uvmsim layouts`");
  add("prefetch", text("NAME[:key=value,...]"), "prefetch policy, default tree (the driver's)");
  add("evict", text("NAME[:key=value,...]"), "eviction policy, default lrm (the driver's)");
  add("plugin", texts("FILE"),
      "load policies from a shared library, a file or a name in the search path; may be repeated");
  add("set", texts("KEY=VALUE"), "change one number of the system; may be repeated");
  add("seed", text("N"), "seed of policies that draw random numbers, default 1");
  add("iterations", text("N"), "marked iterations to run: the last recorded one is repeated; default as recorded");
  add("time-scale", text("X"),
      "factor of kernel durations, or auto (default): by a roofline, from the GPU of the recording to the system's");
  add("recorded-on", text("SYSTEM"), "system whose GPU made the recording, if the trace's header does not tell");
  add("no-host-gaps", flag(), "leave out the recorded host time between calls");
  add("no-unlimited-run", flag(), "do not also run without limit to compare with");
  add("partial", flag(), "of a trace that is cut off, use what is whole instead of refusing it");
  add("json", text("FILE"), "write results as JSON, one line per run; - is standard output");
  add("csv", text("FILE"), "write results as CSV, one row per iteration and one per run; - is standard output");
  add("timeline", text("FILE"), "write a timeline for ui.perfetto.dev (of one run)");
  add("profile", text("FILE"),
      "write an SQLite file of who faulted, waited and moved (kernels, layers, tensors) and what was resident when (of "
      "one "
      "run)");
  add("profile-grid", text("TIMESxADDRESSES"), "buckets of the profile's heat maps, default 512x256");
  add("verbose", flag(), "say on standard error what is being done");
  add("help,h", flag(), "print this text");
  return options;
}

class Values {
 public:
  explicit Values(const po::variables_map& values) : values_(values) {}
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

std::uint64_t size_of_option(const Values& values, const char* name, std::uint64_t minimum) {
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

void check_combinations(const RunArguments& run) {
  if (run.capacity_bytes != 0 && !run.osf_thousandths.empty()) {
    throw_input_error("--osf and --capacity-bytes both set the capacity; give one of them");
  }
  if (run.capacity_bytes != 0 && run.footprint_bytes != 0) {
    throw_input_error("--footprint-bytes has no effect with --capacity-bytes; give one of them");
  }
  if (run.time_scale_millionths != 0 && !run.recorded_on.empty()) {
    throw_input_error("--recorded-on has no effect with a fixed --time-scale; give one of them");
  }
  for (const auto& [file, name] : {std::pair{&run.timeline, "--timeline"}, std::pair{&run.profile, "--profile"}}) {
    if (*file && run.osf_thousandths.size() > 1) {
      throw_input_error("{} shows one run; give one --osf, not {}", name, run.osf_thousandths.size());
    }
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

}  // namespace

RunArguments parse_run_arguments(const std::vector<std::string>& arguments) {
  const auto parsed = parse_options("uvmsim run", arguments, run_options(), 1);
  const Values values(parsed);
  RunArguments run;
  run.help = values.flag("help");
  if (run.help) return run;

  const auto positional = positional_arguments(parsed);
  if (positional.empty()) throw_input_error("run: no trace given; `uvmsim run --help` shows examples");
  run.trace = positional.front();
  const auto system = values.text("system");
  if (!system) throw_input_error("run: option --system is missing; `uvmsim systems` lists what it takes");
  run.system = *system;
  run.settings = values.texts("set");

  run.osf_thousandths = factors_of(values.texts("osf"));
  run.capacity_bytes = size_of_option(values, "capacity-bytes", kBlockBytes);
  run.footprint_bytes = size_of_option(values, "footprint-bytes", 1);
  run.layout = parse_layout("--layout", values.text("layout").value_or("recorded"));
  run.prefetch = parse_policy("--prefetch", values.text("prefetch").value_or("tree"));
  run.evict = parse_policy("--evict", values.text("evict").value_or("lrm"));
  run.plugins = values.texts("plugin");
  run.seed = parse_unsigned("--seed", values.text("seed").value_or("1"));
  run.iterations = parse_iterations("--iterations", values.text("iterations"));
  run.time_scale_millionths = parse_time_scale("--time-scale", values.text("time-scale").value_or("auto"));
  run.recorded_on = values.text("recorded-on").value_or("");
  run.include_host_gaps = !values.flag("no-host-gaps");
  run.unlimited_run = !values.flag("no-unlimited-run");
  run.partial = values.flag("partial");
  run.verbose = values.flag("verbose");
  run.json = values.text("json");
  run.csv = values.text("csv");
  run.timeline = values.text("timeline");
  run.profile = values.text("profile");
  if (const auto grid = values.text("profile-grid")) run.profile_grid = parse_grid("--profile-grid", *grid);
  if (!run.profile && values.text("profile-grid")) throw_input_error("--profile-grid has no effect without --profile");
  check_combinations(run);
  return run;
}

std::string run_help() {
  std::ostringstream options;
  options << run_options();
  return kUsage + options.str() + kNotes;
}

}  // namespace uvmsim::cli
