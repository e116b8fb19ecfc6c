// SPDX-License-Identifier: Apache-2.0
// The changes between two sets of runs, as tables, JSON and CSV.
//
// Runs are paired when everything that determined them is the same. If all runs of a share one property and all runs of
// b another (the evict policy, a cost, the trace), and it is the only such property, runs are compared across it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/compare/read_runs.h"
#include "sim/compare/run_view.h"
#include "sim/compare/tolerance.h"

namespace uvmsim::compare {

struct CompareOptions {
  std::vector<std::string> across;   // keys of RunView::identity that may differ, with all keys that belong to them
  std::vector<std::string> metrics;  // names or patterns; empty: all
  Tolerances tolerances;
};

// A property that all runs of a share and all runs of b share, with different values.
struct Across {
  std::string key;   // "evict"
  std::string a, b;  // "lrm", "lru:window=4"; "several" where runs of one side differ (asked for by the user)
};

struct MetricChange {
  std::string name;
  std::optional<std::uint64_t> a, b;  // nothing where a run has no such metric
};

struct ComparedPair {
  const RunView* a;
  const RunView* b;
  std::vector<MetricChange> changes;  // those beyond their tolerance, in the order of the metrics
  // Number of other differing metrics whose ranges over the seeds of a and of b overlap.
  std::size_t noise = 0;
};

// Points into the compared runs.
struct Comparison {
  std::vector<Across> across;
  std::vector<ComparedPair> pairs;  // in the order of a
  std::vector<const RunView*> only_a, only_b;
  // If nothing matches: the properties that would all have to be in `across`.
  std::vector<Across> hindrances;

  std::size_t changed_pairs() const;
  bool differs() const { return changed_pairs() != 0 || !only_a.empty() || !only_b.empty(); }
};

// Throws InputError for a key or a metric that no run has, and when several runs of one side match the same run of the
// other. `name_a` and `name_b` name the sides in messages.
Comparison compare(const std::vector<RunView>& a, const std::vector<RunView>& b, const CompareOptions& options);

// Returns the keys of `identity` in which some of the runs differ. For runs with different policies, the parameters of
// these do not count: "prefetch" covers "prefetch.threshold".
std::vector<std::string> varying_keys(const std::vector<const RunView*>& runs);

// Returns whether a metric is shown first: time, faults, bytes and transactions by direction, evictions.
bool is_main_metric(std::string_view name);

struct TextOptions {
  bool all_metrics = false;  // false: is_main_metric() ones, with a line that says how many more changed
  bool tolerant = false;     // states that differences within a tolerance were left out
};

// Describes the comparison, then per pair of runs the changed metrics, the runs on only one side, and in a last line
// how much changed, or "no difference".
std::string comparison_text(const Comparison& comparison, const RunSet& a, const RunSet& b, const TextOptions& options);

// Formats one object, schema "uvmsim.comparison/1" (README.md): integers only, keys in a fixed order.
std::string comparison_json(const Comparison& comparison, const RunSet& a, const RunSet& b);

// Formats a header, then one row per changed metric. Runs on only one side have one row without a metric.
std::string comparison_csv(const Comparison& comparison);

}  // namespace uvmsim::compare
