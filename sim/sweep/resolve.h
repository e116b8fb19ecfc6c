// SPDX-License-Identifier: Apache-2.0
// From a point to what it stands for: every name looked up, every default filled in, every input hashed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/policy/registry.h"
#include "sim/report/run_record.h"
#include "sim/sweep/point.h"
#include "sim/sweep/trace_input.h"

namespace uvmsim::sweep {

struct ResolvedPoint {
  Point point;  // with the plug-ins that it uses
  // Everything of the run's record but its results; `options.footprint_bytes` as given.
  report::RunRecord record;
  // Canonical JSON (one line, keys sorted) of all that determines the run, inputs by their SHA-256, and of nothing
  // else: no folder, no date, no machine.
  std::string determinants;
  std::string id;  // SHA-256 of the determinants
};

// The determinants without what chooses and feeds policies: those of the program, its system and its limit.
std::string program_determinants(const std::string& determinants);

// The id of the point's baseline (baseline_of); its own when it is one.
std::string baseline_id(const std::string& determinants);

// Resolves many points: each system is loaded, each plug-in loaded and each trace hashed once.
class Resolver {
 public:
  // Decoded traces are kept in memory up to so many bytes each. What points may choose from is in the registry, by
  // default a new one of the built-ins.
  explicit Resolver(
      std::uint64_t largest_kept_trace_bytes = 0,
      std::shared_ptr<policy::Registry> registry = std::make_shared<policy::Registry>(*policy::built_ins()))
      : largest_kept_bytes_(largest_kept_trace_bytes), registry_(std::move(registry)) {}

  const policy::Registry& registry() const { return *registry_; }

  // Loads the plug-ins into the registry, where they stay. Throws InputError for whatever does not exist or is
  // not allowed: trace, system, setting, layout, policy, parameter, plug-in.
  ResolvedPoint resolve(const Point& point);

  // One of the point's policies comes from the file of a plug-in that was loaded: what a run does not use has no part
  // in its result.
  bool uses_plugin(const Point& point, const std::string& file) const;

  // Throws InputError when a plug-in of the point is not, byte for byte, the one that `determinants` were made with.
  // Loads none.
  void check_plugins(const Point& point, const std::string& determinants) const;

  // The trace of a point, opened at the first call.
  TraceInput& trace(const Point& point);
  // Frees all other traces.
  void keep_only_traces_of(const std::vector<Point>& points);

 private:
  struct System {
    config::SystemConfig config;
    config::SystemConfig as_in_file;  // without the settings
    std::string values_json;
    std::string sha256;
  };
  const System& system(const Point& point);
  const std::optional<config::GpuConfig>& recorded_gpu(const Point& point);
  struct Plugin {
    std::string path;  // of the file that the name means
    report::InputFile file;
  };
  const Plugin& plugin(const std::string& name);

  std::uint64_t largest_kept_bytes_;
  std::shared_ptr<policy::Registry> registry_;
  std::map<std::pair<std::string, bool>, TraceInput> traces_;  // by path and `partial`
  std::map<std::pair<std::string, std::vector<std::string>>, System> systems_;
  std::map<std::string, Plugin> plugins_;
  std::map<std::tuple<std::string, std::string, std::string>, std::optional<config::GpuConfig>> recorded_gpus_;
};

}  // namespace uvmsim::sweep
