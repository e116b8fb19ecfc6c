// SPDX-License-Identifier: Apache-2.0
// Resolving a point: every name is looked up, every default filled in, every input hashed.
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
  Point point;  // with only the plug-ins that it uses
  // The run's record without results; `options.footprint_bytes` is as given.
  report::RunRecord record;
  // Canonical JSON (one line, keys sorted) of everything that determines the run, with inputs by their SHA-256.
  // Folders, dates and machines are not in it.
  std::string determinants;
  std::string id;  // SHA-256 of the determinants
};

// Removes the policies and their inputs from determinants; the program, its system and its limit remain.
std::string program_determinants(const std::string& determinants);

// The id of the point's baseline (baseline_of); a baseline's own id. With `hypothetical`, the id of the baseline that
// has as much memory as the program needs.
std::string baseline_id(const std::string& determinants, bool hypothetical = false);

// Resolves many points: each system is loaded, each plug-in loaded and each trace hashed once.
class Resolver {
 public:
  // Keeps decoded traces of at most `largest_kept_trace_bytes` each in memory. Points choose policies from the
  // registry, by default a new one of the built-ins.
  explicit Resolver(
      std::uint64_t largest_kept_trace_bytes = 0,
      std::shared_ptr<policy::Registry> registry = std::make_shared<policy::Registry>(*policy::built_ins()))
      : largest_kept_bytes_(largest_kept_trace_bytes), registry_(std::move(registry)) {}

  const policy::Registry& registry() const { return *registry_; }

  // Loads the plug-ins into the registry, where they stay. Throws InputError if the trace, system, setting, layout,
  // policy, parameter or plug-in does not exist or is not allowed.
  ResolvedPoint resolve(const Point& point);

  // Returns whether one of the point's policies comes from this plug-in file. An unused plug-in does not affect the
  // result.
  bool uses_plugin(const Point& point, const std::string& file) const;

  // Throws InputError when a plug-in of the point differs from the file that `determinants` were made with. Loads
  // nothing.
  void check_plugins(const Point& point, const std::string& determinants) const;

  // Returns the trace of a point, which the first call opens.
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
    std::string path;  // of the file that the name resolves to
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
