// SPDX-License-Identifier: Apache-2.0
// One finished run as a page shows it: what it is called, and the numbers of the iterations to quote, or of the whole
// run where its trace marks none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/compare/run_view.h"

namespace uvmsim::html {

// What lies between a run and what no policy can beat (sim/bounds/README.md), of the whole run. The parts after
// `bound_ns` add up to its time together with `compute_ns`.
struct PointDistance {
  std::uint64_t bound_ns = 0, compute_ns = 0;
  std::uint64_t necessary_bytes_ns = 0, excess_bytes_ns = 0, fault_latency_ns = 0, serialisation_ns = 0;
};

struct ReportPoint {
  compare::RunView view;
  std::size_t source = 0;  // which of the inputs it is from
  std::string program;     // file name of the trace without its ending
  std::string system;
  std::string policies;  // "tree, lrm" and others where they are not the driver's
  std::string layout;
  std::string command;  // empty: the result has none (older ones, runs that no command line can name)
  std::string seed;
  bool are_drivers_policies = false;  // with any parameters

  enum class Limit : std::uint8_t { kNone, kFactor, kCapacity } limit = Limit::kNone;
  std::uint64_t osf_thousandths = 0;  // as asked for, else as it ran
  bool hypothetical = false;          // more memory than the GPU has
  bool partial_trace = false;
  std::uint64_t footprint_bytes = 0, capacity_bytes = 0;

  bool of_iterations = false;      // the numbers below; else of the whole run
  std::optional<bool> is_settled;  // of iterations; nothing: the result does not say
  std::uint64_t learning = 0;      // iterations before the first settled one
  std::uint64_t first_iteration = 0, last_iteration = 0;
  std::uint64_t time_ns = 0, total_ns = 0;            // total: the whole run
  std::optional<std::uint64_t> slowdown_thousandths;  // against the driver's own policies with the GPU's whole memory
  std::uint64_t htod_bytes = 0, dtoh_bytes = 0, fault_batches = 0, evictions = 0, reloaded_pages = 0;
  std::uint64_t kernel_ns = 0, kernel_compute_ns = 0, fault_service_ns = 0;
  std::optional<PointDistance> distance;
};

// Of one result, schema uvmsim.result/2; `where` begins messages. Throws InputError.
ReportPoint point_of_result(const nlohmann::ordered_json& result, const std::string& where);

// Which points are one curve, and what tells curves apart. A panel is a program on a system. Within it points that
// differ in nothing but their limit and seed are a series; those that differ in their seed alone are one place of it.
struct Series {
  std::string label;  // what tells it from the others of all panels: "evict lru"
  bool are_drivers_policies = false;
};

struct PlacedPoint {
  std::size_t panel = 0, series = 0;
};

struct SeriesTable {
  std::vector<std::string> panels;  // the program, and what else tells them apart; in the order of the points
  std::vector<Series> series;       // over all panels; the driver's policies first, then in the order of the points
  std::vector<PlacedPoint> places;  // of each point
  std::string shared;               // what all points have in common, for people
};

SeriesTable series_of(const std::vector<ReportPoint>& points);

}  // namespace uvmsim::html
