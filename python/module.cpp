// SPDX-License-Identifier: Apache-2.0
// The Python module: runs traces as `uvmsim run` does, with policies written in C++ or Python. People import
// uvmsim/__init__.py.
#include <fmt/format.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <unistd.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "python/policies.h"
#include "sim/common/check.h"
#include "sim/common/error.h"
#include "sim/common/version.h"
#include "sim/config/load_system.h"
#include "sim/conformance/conformance.h"
#include "sim/policy/plugin.h"
#include "sim/policy/plugin_call.h"
#include "sim/policy/registry.h"
#include "sim/report/event_fan.h"
#include "sim/report/profile.h"
#include "sim/report/result_csv.h"
#include "sim/report/result_json.h"
#include "sim/report/timeline.h"
#include "sim/sweep/resolve.h"
#include "sim/sweep/run_point.h"
#include "sim/sweep/values.h"

namespace uvmsim::python {
namespace {

namespace py = pybind11;
using Texts = std::vector<std::string>;

// Decoded traces are kept up to this size.
constexpr std::uint64_t kLargestKeptTrace = std::uint64_t{256} << 20;

// The options of `uvmsim run` as texts; empty: not given. Names are those of the keyword arguments.
struct Choices {
  std::string system, layout, seed, seeds, iterations, time_scale, recorded_on, capacity_bytes, footprint,
      footprint_bytes, timeline, profile;
  Texts osf, plugins, settings;
  std::vector<std::pair<std::string, std::string>> policies;  // by slot
  bool host_gaps = true, bounds = false, unlimited_run = true, hypothetical_capacity = false, until_settled = false;
};

// The additional files that one run writes.
class EventFiles {
 public:
  explicit EventFiles(const Choices& choices) {
    std::vector<EventSink*> sinks;
    if (!choices.timeline.empty()) {
      timeline_ = std::make_unique<report::Timeline>(choices.timeline, report::TimelineWindow{});
      sinks.push_back(timeline_.get());
    }
    if (!choices.profile.empty()) {
      profile_ = std::make_unique<report::Profile>(choices.profile, report::ProfileGrid{});
      sinks.push_back(profile_.get());
    }
    if (!sinks.empty()) events_.emplace(std::move(sinks));
  }
  EventSink* events() { return events_ ? &*events_ : nullptr; }
  void finish(const report::RunRecord& record) {
    if (timeline_) timeline_->finish(&record);
    if (profile_) profile_->finish(record);
  }

 private:
  std::unique_ptr<report::Timeline> timeline_;
  std::unique_ptr<report::Profile> profile_;
  std::optional<report::EventFan> events_;
};

struct Ran {
  std::string json, csv;  // a line, and the rows with a header, as the command writes them
};

// During its lifetime a second Ctrl-C ends Python if a plug-in's policy never returns; nothing else could end it.
class PluginInterrupt {
 public:
  PluginInterrupt() {
    first_ = true;
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    ::sigaction(SIGINT, &action, &python_);
  }
  ~PluginInterrupt() { ::sigaction(SIGINT, &python_, nullptr); }
  PluginInterrupt(const PluginInterrupt&) = delete;
  PluginInterrupt& operator=(const PluginInterrupt&) = delete;

 private:
  static void on_interrupt(int signal) {
    constexpr int kInterrupted = 130;
    if (!std::exchange(first_, false) && policy::current_plugin_call() != nullptr) ::_exit(kInterrupted);
    if (python_.sa_handler != SIG_DFL && python_.sa_handler != SIG_IGN) python_.sa_handler(signal);
  }
  // A signal handler can use only globals.
  static inline struct sigaction python_ {};
  static inline bool first_ = true;
};

class Trace {
 public:
  Trace(std::string path, bool partial, std::shared_ptr<policy::Registry> registry)
      : resolver_(kLargestKeptTrace, std::move(registry)) {
    point_.trace = std::move(path);
    point_.partial = partial;
    input().header();
  }

  const std::string& path() const { return point_.trace; }
  std::string sha256() { return input().description().sha256; }
  std::uint64_t footprint_bytes(const std::string& layout, std::uint64_t iterations) {
    return input().footprint_bytes(sweep::parse_layout("layout", layout), iterations);
  }
  std::uint64_t records() {
    input().footprint_bytes({}, 0);
    return input().records();
  }

  // Returns one result per factor and seed, the seed varying fastest; without a limit if there is no factor.
  std::vector<Ran> run(const Choices& choices) {
    const sweep::Point shared = shared_point(choices);
    const std::uint64_t seeds = seeds_of(choices);
    std::vector<sweep::Point> limits;
    for (const std::string& osf : choices.osf) {
      limits.push_back(shared);
      limits.back().osf_thousandths = sweep::parse_osf("osf", osf);
    }
    if (limits.empty()) limits.push_back(shared);
    EventFiles files(choices);
    if (files.events() != nullptr && limits.size() * seeds > 1) {
      throw_input_error("timeline and profile show one run; allowed: one factor and one seed");
    }
    std::vector<sweep::PointToRun> runs;
    for (sweep::Point point : limits) {
      point.bounds = choices.bounds;
      for (std::uint64_t i = 0; i < seeds; ++i, ++point.seed) {
        runs.push_back({resolver_.resolve(point), files.events()});
      }
    }
    sweep::Point baseline = sweep::fitting_baseline(shared, resolver_);
    const bool is_baseline = runs.front().point.id == resolver_.resolve(baseline).id;
    const bool with_unlimited = choices.unlimited_run && !is_baseline;
    for (std::uint64_t i = 0; with_unlimited && i < seeds; ++i, ++baseline.seed) {
      runs.push_back({resolver_.resolve(baseline), nullptr});
    }
    const PluginInterrupt interrupt;
    // Runs are sequential, because policies in Python would take turns anyway.
    std::vector<report::RunRecord> records = sweep::run_points(runs, input(), 1, [](std::uint64_t) {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    });
    std::vector<report::UnlimitedRun> unlimited;  // by seed
    for (std::uint64_t i = 0; (with_unlimited || is_baseline) && i < seeds; ++i) {
      unlimited.push_back(report::as_unlimited(records[records.size() - seeds + i]));
    }
    if (with_unlimited) records.resize(records.size() - seeds);
    std::vector<Ran> ran;
    for (std::size_t i = 0; i < records.size(); ++i) {
      report::RunRecord& record = records[i];
      if (!unlimited.empty()) record.unlimited = unlimited[i % seeds];
      files.finish(record);
      ran.push_back({report::result_json(record), report::result_csv_header() + report::result_csv_rows(record)});
    }
    return ran;
  }

 private:
  sweep::TraceInput& input() { return resolver_.trace(point_); }

  static std::uint64_t seeds_of(const Choices& choices) {
    constexpr std::uint64_t kMost = 1000;
    const std::uint64_t seeds = choices.seeds.empty() ? 1 : sweep::parse_unsigned("seeds", choices.seeds);
    if (seeds == 0 || seeds > kMost) throw_input_error("seeds: {} is not allowed; allowed: 1 to {}", seeds, kMost);
    return seeds;
  }

  sweep::Point shared_point(const Choices& choices) const {
    sweep::Point point = point_;
    point.system = choices.system;
    point.settings = choices.settings;
    point.layout = choices.layout;
    point.plugins = choices.plugins;
    point.recorded_on = choices.recorded_on;
    point.hypothetical_capacity = choices.hypothetical_capacity;
    point.include_host_gaps = choices.host_gaps;
    point.seed = sweep::parse_unsigned("seed", choices.seed);
    if (!choices.iterations.empty()) sweep::parse_iterations("iterations", choices.iterations, point);
    point.time_scale_millionths = sweep::parse_time_scale("time_scale", choices.time_scale);
    if (!choices.capacity_bytes.empty()) {
      if (!choices.osf.empty()) throw_input_error("osf and capacity_bytes both set the capacity; give one of them");
      point.capacity_bytes = sweep::parse_size("capacity_bytes", choices.capacity_bytes);
      if (point.capacity_bytes < kBlockBytes) {
        throw_input_error("capacity_bytes: {} is too small; allowed: at least {} bytes (one 2 MiB chunk)",
                          choices.capacity_bytes, kBlockBytes);
      }
    }
    if (!choices.footprint.empty()) point.touched_footprint = sweep::parse_footprint("footprint", choices.footprint);
    if (!choices.footprint_bytes.empty()) {
      point.footprint_bytes = sweep::parse_size("footprint_bytes", choices.footprint_bytes);
    }
    sweep::check_footprint(point, "footprint");
    point.until_settled = choices.until_settled;
    sweep::check_iterations(point, "iterations");
    if (point.iterations == 0) point.until_settled = false;  // already implied by the default
    for (const auto& [slot, text] : choices.policies) {
      point.*choice_of(slot_named(slot)) = sweep::parse_policy(slot, text);
    }
    return point;
  }

  static policy::Slot slot_named(const std::string& name) {
    for (const policy::Slot slot : kPolicySlots) {
      if (policy::slot_name(slot) == name) return slot;
    }
    throw_input_error("unknown slot '{}'", name);
  }

  sweep::Resolver resolver_;
  sweep::Point point_;
};

py::list policies(const policy::Registry& registry) {
  py::list all;
  for (const policy::PolicyEntry* entry : registry.list()) {
    py::dict parameters;
    for (const policy::Parameter& parameter : entry->parameters) {
      parameters[py::str(parameter.name)] = parameter.default_value;
    }
    py::dict one;
    one["slot"] = std::string(policy::slot_name(entry->slot));
    one["name"] = entry->info.name;
    one["information_class"] = std::string(policy::information_class_name(entry->info.information));
    one["description"] = entry->info.description;
    one["source"] = entry->info.source;
    one["origin"] = entry->origin;
    one["parameters"] = parameters;
    py::list slots;
    for (const policy::Slot slot : entry->slots) slots.append(std::string(policy::slot_name(slot)));
    one["slots"] = slots;
    one["for_processes"] = entry->info.for_processes;
    all.append(one);
  }
  return all;
}

py::list systems() {
  py::list all;
  const std::vector<std::string> search_path = config::default_search_path();
  for (const config::SystemFile& file : config::list_systems(search_path)) {
    py::dict one;
    one["name"] = file.name;
    one["path"] = file.path;
    try {
      const config::SystemConfig system = config::load_system(file.path, search_path);
      one["description"] = system.description;
      one["gpu"] = system.gpus.front().model;
      one["gpus"] = system.gpus.size();
      one["memory_bytes"] = system.gpus.front().memory_bytes;
    } catch (const InputError& error) {  // one broken file does not hide the others
      one["problem"] = error.what();
    }
    all.append(one);
  }
  return all;
}

py::list check_policy(const std::shared_ptr<const policy::Registry>& registry, const std::string& slot,
                      const std::string& name, std::uint64_t seed) {
  py::list verdicts;
  for (const policy::PolicyEntry* entry : registry->list()) {
    if (policy::slot_name(entry->slot) != slot || entry->info.name != name) continue;
    for (const conformance::Verdict& verdict :
         conformance::check_policy(*entry, {.registry = registry, .seed = seed})) {
      verdicts.append(py::make_tuple(verdict.check, verdict.passed, verdict.text));
    }
    return verdicts;
  }
  throw_input_error("{}: there is no {} policy of that name", name, slot);
}

}  // namespace
}  // namespace uvmsim::python

PYBIND11_MODULE(_uvmsim, module) {
  using namespace uvmsim::python;
  // The registry of this module: the built-ins, plug-ins of load_plugin(), and policies in Python.
  const auto registry = std::make_shared<uvmsim::policy::Registry>(*uvmsim::policy::built_ins());
  module.doc() = "what uvmsim/__init__.py is made of";
  module.attr("__version__") = std::string(uvmsim::version());
  py::register_exception<uvmsim::InputError>(module, "Error", PyExc_ValueError).attr("__module__") = "uvmsim";
  py::register_exception<uvmsim::ModelError>(module, "ModelError", PyExc_RuntimeError).attr("__module__") = "uvmsim";
  py::class_<Choices>(module, "Choices")
      .def(py::init<>())
      .def_readwrite("system", &Choices::system)
      .def_readwrite("layout", &Choices::layout)
      .def_readwrite("seed", &Choices::seed)
      .def_readwrite("seeds", &Choices::seeds)
      .def_readwrite("until_settled", &Choices::until_settled)
      .def_readwrite("timeline", &Choices::timeline)
      .def_readwrite("profile", &Choices::profile)
      .def_readwrite("iterations", &Choices::iterations)
      .def_readwrite("time_scale", &Choices::time_scale)
      .def_readwrite("recorded_on", &Choices::recorded_on)
      .def_readwrite("capacity_bytes", &Choices::capacity_bytes)
      .def_readwrite("footprint", &Choices::footprint)
      .def_readwrite("footprint_bytes", &Choices::footprint_bytes)
      .def_readwrite("osf", &Choices::osf)
      .def_readwrite("plugins", &Choices::plugins)
      .def_readwrite("settings", &Choices::settings)
      .def_readwrite("policies", &Choices::policies)
      .def_readwrite("host_gaps", &Choices::host_gaps)
      .def_readwrite("hypothetical_capacity", &Choices::hypothetical_capacity)
      .def_readwrite("bounds", &Choices::bounds)
      .def_readwrite("unlimited_run", &Choices::unlimited_run);
  py::class_<Ran>(module, "Ran").def_readonly("json", &Ran::json).def_readonly("csv", &Ran::csv);
  py::class_<Trace>(module, "Trace")
      .def(py::init([registry](std::string path, bool partial) {
             return std::make_unique<Trace>(std::move(path), partial, registry);
           }),
           py::arg("path"), py::arg("partial") = false)
      .def_property_readonly("path", &Trace::path)
      .def_property_readonly("sha256", &Trace::sha256)
      .def_property_readonly("records", &Trace::records)
      .def("footprint_bytes", &Trace::footprint_bytes, py::arg("layout") = "recorded", py::arg("iterations") = 0,
           "GPU memory in bytes that holds all live managed memory at its peak under the layout")
      .def("_run", &Trace::run, py::arg("choices"));
  module.def(
      "policies", [registry] { return policies(*registry); }, "every registered policy, as dicts");
  module.def(
      "systems", [] { return systems(); }, "every system that can be named, as dicts");
  module.def(
      "load_plugin",
      [registry](const std::string& path) {
        uvmsim::policy::load_plugin(*registry, uvmsim::policy::find_plugin(path));
      },
      py::arg("path"), "adds the policy of a shared library");
  module.def(
      "check_policy",
      [registry](const std::string& slot, const std::string& name, std::uint64_t seed) {
        return check_policy(registry, slot, name, seed);
      },
      py::arg("slot"), py::arg("name"), py::arg("seed"), "verdicts of `uvmsim check-policy`: (check, passed, text)");
  add_policies(module, registry);
}
