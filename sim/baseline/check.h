// SPDX-License-Identifier: Apache-2.0
// Runs the points of a baseline again and compares them with the expected results; reports text, and JUnit XML for CI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/baseline/baseline.h"
#include "sim/baseline/run_points.h"
#include "sim/compare/seed_range.h"

namespace uvmsim::baseline {

struct CheckOptions {
  std::string only = "*";            // names of points; * and ? are wildcards
  std::vector<std::string> plugins;  // loaded for every point; replaces a point's plug-in with the same file name
  bool any_trace = false;            // also runs traces that differ from the baseline's (for an update)
  std::size_t jobs = 1;
};

struct MetricVerdict {
  std::string name;
  std::uint64_t expected = 0;
  std::optional<std::uint64_t> found = {};  // nothing: the run has no such metric
  compare::Tolerance tolerance = {};
  bool within = false;  // within the tolerance
  // The expected range over the point's seeds in the baseline; nothing if it has one seed.
  std::optional<compare::SeedRange> seeds = {};

  // Returns whether the value is beyond its tolerance, but within it of the range of the seeds.
  bool is_noise() const { return !within && found && seeds && seeds->allows(*found, tolerance); }
  bool passed() const { return within || is_noise(); }
};

struct PointVerdict {
  std::string name;
  std::string expected_trace_sha256;
  MadeBy expected_made_by;
  RunAnswer answer;
  std::vector<MetricVerdict> metrics;  // empty when it did not run

  bool passed() const;
  bool has_noise() const;
};

struct CheckResult {
  std::string path;                    // of the baseline
  std::vector<PointVerdict> verdicts;  // in the order of the baseline

  std::size_t failures() const;
  std::size_t noisy() const;  // points that passed only because some metric is noise
  bool has_bug() const;
};

// Returns the points to run: with paths from the current folder and the plug-ins of the command line. Throws InputError
// when `only` matches none.
std::vector<RunRequest> requests_of(const Baseline& baseline, const std::string& path, const CheckOptions& options);

// Runs and judges the points. Throws InputError as above; a problem with one point becomes its verdict's error.
CheckResult check(const Baseline& baseline, const std::string& path, const CheckOptions& options,
                  const RunProgress& progress = {});

// Returns the baseline with the new results; tolerances and the choice of metrics stay, and so do points that were not
// run. Throws InputError when a point failed to run, or lacks a metric.
Baseline updated(const Baseline& baseline, const CheckResult& result);

// Formats a line per point, "ok" or "FAIL", and below a failed one each metric outside its tolerance: expected, found,
// change, allowed. If the baseline has several seeds of a point, noise is marked below it. The last line has the
// totals.
std::string check_text(const CheckResult& result);

// Formats the changes per point for an update, within the tolerances or not.
std::string update_text(const CheckResult& result);

// Formats <testsuites> with one <testsuite> per baseline and one <testcase> per point; <failure> for one that changed,
// <error> for one that did not run. The same results give the same bytes: there are no times, dates or hosts.
std::string junit_xml(const std::vector<CheckResult>& results);

}  // namespace uvmsim::baseline
