#include "sim/cli/run_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "sim/cli/interrupt.h"
#include "sim/cli/progress.h"
#include "sim/cli/run_options.h"
#include "sim/cli/run_outputs.h"
#include "sim/cli/run_summary.h"
#include "sim/cli/trace_source.h"
#include "sim/common/error.h"
#include "sim/config/load_system.h"
#include "sim/config/system_text.h"
#include "sim/policy/plugin.h"
#include "sim/policy/registry.h"
#include "sim/report/numbers.h"
#include "sim/report/run_record.h"
#include "sim/trace/validate.h"

namespace uvmsim::cli {
namespace {

// Often enough for a bar and for Ctrl-C, too rare to cost time.
constexpr std::uint64_t kRecordsBetweenUpdates = 64;

report::PolicyUsed describe_policy(policy::Slot slot, const PolicyChoice& choice) {
  const auto& entry = policy::default_registry().find(slot, choice.name);
  return {std::string(policy::slot_name(slot)), choice.name,
          std::string(policy::information_class_name(entry.info.information)),
          entry.resolve(choice.parameters).resolved()};
}

// Calls `action` and makes sure that what is wrong with the trace is reported with its name.
template <class Action>
auto naming_trace(const TraceSource& trace, Action&& action) {
  try {
    return action();
  } catch (const InputError& error) {
    if (std::string_view(error.what()).starts_with(trace.name())) throw;
    throw_input_error("{}: {}", trace.name(), error.what());
  }
}

class Runner {
 public:
  explicit Runner(const RunArguments& run)
      : run_(run), trace_(run.trace, run.partial), progress_(run.verbose), outputs_(run) {
    base_.trace = trace_.description();
    base_.options.prefetch = run.prefetch;
    base_.options.evict = run.evict;
    base_.options.layout = run.layout;
    base_.options.capacity_bytes = run.capacity_bytes;
    base_.options.footprint_bytes = run.footprint_bytes;
    base_.options.seed = run.seed;
    base_.options.include_host_gaps = run.include_host_gaps;
    base_.options.iterations = run.iterations;
    base_.options.time_scale.factor_millionths = run.time_scale_millionths;
  }

  void describe_system_and_policies() {
    for (const std::string& path : run_.plugins) {
      policy::load_plugin(policy::default_registry(), path);
      base_.plugins.push_back(report::describe_input(path));
    }
    base_.policies = {describe_policy(policy::Slot::kPrefetch, run_.prefetch),
                      describe_policy(policy::Slot::kEvict, run_.evict)};
    base_.options.system = config::load_system(run_.system);
    config::apply_overrides(base_.options.system, run_.settings);
    base_.system_json = config::values_json(base_.options.system);
  }

  // One pass over the whole trace: its footprint, the number of its records, and whether it makes sense, so that a
  // mistake near its end does not cost the simulation before it.
  void measure() {
    trace::TraceReader reader = trace_.open();
    base_.header = reader.header();
    progress_.begin("reading " + trace_.name(), 0);
    trace::Validator validator(reader.name(), reader.header());
    const RecordSource source = [&](trace::Record& record) {
      if (!reader.next(record)) return false;
      validator.check(record, reader.position());
      if (++records_ % kRecordsBetweenUpdates == 0) report_progress(records_);
      return true;
    };
    footprint_bytes_ = naming_trace(trace_, [&] { return measure_footprint(source, run_.layout); });
    progress_.end();
    validator.finish(reader.truncated());
    base_.partial = reader.truncated();
    if (base_.partial) fmt::print(stderr, "uvmsim: {}; using the {} records before\n", reader.truncation(), records_);
  }

  void run_all() {
    const bool limited = run_.capacity_bytes != 0 || !run_.osf_thousandths.empty();
    for (const std::uint64_t osf : run_.osf_thousandths) check_capacity(osf);
    std::optional<report::UnlimitedRun> unlimited;
    if (!limited || run_.unlimited_run) {
      RunResult result = simulate_one("no limit", 0, 0, limited ? nullptr : outputs_.timeline());
      if (limited) {
        const IterationResult* settled = report::settled_iteration(result);
        unlimited =
            report::UnlimitedRun{result.total, settled != nullptr ? settled->end - settled->begin : Nanoseconds{},
                                 result.counters.evictions};
      } else {
        keep(false, 0, std::move(result), std::nullopt);
      }
    }
    if (run_.capacity_bytes != 0) {
      const std::string name = "capacity " + report::format_bytes(run_.capacity_bytes);
      keep(true, 0, simulate_one(name, 0, run_.capacity_bytes, outputs_.timeline()), unlimited);
    }
    for (const std::uint64_t osf : run_.osf_thousandths) {
      keep(true, osf, simulate_one("OSF " + report::format_factor(osf), osf, 0, outputs_.timeline()), unlimited);
    }
  }

  void write_and_print() {
    outputs_.write(records_of_runs_);
    if (outputs_.standard_output_taken()) return;
    fmt::print("{}",
               records_of_runs_.size() == 1 ? run_summary(records_of_runs_.front()) : runs_table(records_of_runs_));
  }

 private:
  void report_progress(std::uint64_t done) {
    throw_if_interrupted();
    progress_.update(done);
  }

  std::uint64_t effective_footprint() const {
    return run_.footprint_bytes != 0 ? run_.footprint_bytes : footprint_bytes_;
  }

  // Says which factors the trace allows, before the first of several runs.
  void check_capacity(std::uint64_t osf_thousandths) const {
    const std::uint64_t footprint = effective_footprint();
    const std::uint64_t largest = report::ratio_thousandths(footprint, kBlockBytes);
    if (footprint < kBlockBytes) {
      throw_input_error(
          "{}: its footprint is {} bytes, less than one 2 MiB chunk, so that no --osf is possible; "
          "--capacity-bytes sets the capacity directly",
          trace_.name(), footprint);
    }
    if (osf_thousandths > largest) {
      throw_input_error("--osf: {} leaves {} of a footprint of {}, less than one 2 MiB chunk; allowed here: at most {}",
                        report::format_factor(osf_thousandths),
                        report::format_bytes(footprint / osf_thousandths * 1000), report::format_bytes(footprint),
                        report::format_factor(largest));
    }
  }

  // Both zero: no limit.
  RunResult simulate_one(const std::string& name, std::uint64_t osf_thousandths, std::uint64_t capacity_bytes,
                         EventSink* events) {
    RunOptions options = base_.options;
    options.limited = osf_thousandths != 0 || capacity_bytes != 0;
    if (osf_thousandths != 0) options.osf_thousandths = osf_thousandths;
    options.capacity_bytes = capacity_bytes;
    options.footprint_bytes = effective_footprint();
    trace::TraceReader reader = trace_.open();
    RunObserver observer;
    observer.events = events;
    std::uint64_t done = 0;
    const RecordSource source = [&](trace::Record& record) {
      if (done++ % kRecordsBetweenUpdates == 0) report_progress(done);
      return reader.next(record);
    };
    progress_.begin(name, records_);
    RunResult result = naming_trace(trace_, [&] { return simulate(reader.header(), source, options, observer); });
    progress_.end();
    return result;
  }

  void keep(bool limited, std::uint64_t osf_thousandths, RunResult result,
            const std::optional<report::UnlimitedRun>& unlimited) {
    report::RunRecord record = base_;
    record.options.limited = limited;
    if (osf_thousandths != 0) record.options.osf_thousandths = osf_thousandths;
    record.result = std::move(result);
    record.unlimited = unlimited;
    records_of_runs_.push_back(std::move(record));
  }

  const RunArguments& run_;
  TraceSource trace_;
  Progress progress_;
  RunOutputs outputs_;
  report::RunRecord base_;  // what all runs share
  std::uint64_t records_ = 0;
  std::uint64_t footprint_bytes_ = 0;  // measured
  std::vector<report::RunRecord> records_of_runs_;
};

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  const RunArguments run = parse_run_arguments(arguments);
  if (run.help) {
    fmt::print("{}", run_help());
    return 0;
  }
  const InterruptGuard guard;
  Runner runner(run);
  runner.describe_system_and_policies();
  runner.measure();
  runner.run_all();
  runner.write_and_print();
  return 0;
}

}  // namespace uvmsim::cli
