// SPDX-License-Identifier: Apache-2.0
// One finished run as a page shows it: its name, and the numbers of the quoted iterations, or of the whole run if its
// trace marks none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/compare/run_view.h"

namespace uvmsim::html {

// The gap between a run and its lower bound (sim/bounds/README.md), for the whole run. The parts after `bound_ns`,
// together with `compute_ns`, add up to the run's time.
struct PointDistance {
  std::uint64_t bound_ns = 0, compute_ns = 0;
  std::uint64_t necessary_bytes_ns = 0, excess_bytes_ns = 0, fault_latency_ns = 0, serialisation_ns = 0;
};

struct ReportPoint {
  compare::RunView view;
  std::size_t source = 0;  // index of its input
  std::string program;     // file name of the trace without its extension
  std::string system;
  std::string policies;  // "tree, lrm", and others if they are not the driver's
  std::string layout;
  std::string command;  // empty: the result has none (older results, runs that no command line can name)
  std::string seed;
  bool are_drivers_policies = false;  // with any parameters

  enum class Limit : std::uint8_t { kNone, kFactor, kCapacity } limit = Limit::kNone;
  std::uint64_t osf_thousandths = 0;  // as requested; without a request as it ran
  bool hypothetical = false;          // more memory than the GPU has
  bool partial_trace = false;
  std::uint64_t misfit_kernels = 0;  // by name: those that do not fit the access pattern of their name
  std::uint64_t footprint_bytes = 0, capacity_bytes = 0;

  // If true, the numbers below are of iterations, else of the whole run.
  bool of_iterations = false;
  std::optional<bool> is_settled;                         // for iterations; nothing: the result does not say
  std::uint64_t learning = 0;                             // iterations before the first settled one
  std::uint64_t first_iteration = 0, last_iteration = 0;  // the iterations whose means the numbers are
  std::uint64_t shortest_ns = 0, longest_ns = 0;          // of these iterations
  std::uint64_t time_ns = 0, total_ns = 0;                // total: the whole run
  std::optional<std::uint64_t> slowdown_thousandths;      // relative to the driver's own policies with enough memory
  bool baseline_hypothetical = false;                     // the baseline had more memory than the GPU
  std::uint64_t htod_bytes = 0, dtoh_bytes = 0, fault_batches = 0, evictions = 0, reloaded_pages = 0;
  std::uint64_t kernel_ns = 0, kernel_compute_ns = 0, fault_service_ns = 0;
  std::optional<PointDistance> distance;
};

// Reads one result, schema uvmsim.result/3; `where` begins messages. Throws InputError.
ReportPoint point_of_result(const nlohmann::ordered_json& result, const std::string& where);

// Groups points into curves. A panel is a program on a system. Within it, points that differ only in their limit and
// seed are a series; points that differ only in their seed are one place of the series.
struct Series {
  std::string label;  // its difference from the other series of all panels: "evict lru"
  bool are_drivers_policies = false;
};

struct PlacedPoint {
  std::size_t panel = 0, series = 0;
};

struct SeriesTable {
  std::vector<std::string> panels;  // the program, and whatever else distinguishes panels; in the order of the points
  std::vector<Series> series;       // over all panels; the driver's policies first, then in the order of the points
  std::vector<PlacedPoint> places;  // by point
  std::string shared;               // the common properties of all points, for people
};

SeriesTable series_of(const std::vector<ReportPoint>& points);

}  // namespace uvmsim::html
