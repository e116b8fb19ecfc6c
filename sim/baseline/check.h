// SPDX-License-Identifier: Apache-2.0
// Runs the points of a baseline again and says which of them are as expected: for people, and as JUnit XML for CI.
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
  std::vector<std::string> plugins;  // loaded for every point; one with the file name of a point's own replaces it
  bool any_trace = false;            // also run traces that are not the baseline's (for an update)
  std::size_t jobs = 1;
};

struct MetricVerdict {
  std::string name;
  std::uint64_t expected = 0;
  std::optional<std::uint64_t> found = {};  // nothing: the run has no such metric
  compare::Tolerance tolerance = {};
  bool within = false;  // the tolerance
  // What the baseline expects of this point with its several seeds; nothing where it has one.
  std::optional<compare::SeedRange> seeds = {};

  // Beyond the tolerance, but not beyond what the seeds scatter over and the tolerance.
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
  std::size_t noisy() const;  // points that passed, some metric by noise
  bool has_bug() const;
};

// The points as they run: paths from the current folder, plug-ins of the command line in place. Throws InputError when
// `only` matches none.
std::vector<RunRequest> requests_of(const Baseline& baseline, const std::string& path, const CheckOptions& options);

// Runs them and judges. Throws InputError as above; what is wrong with one point is its verdict's error.
CheckResult check(const Baseline& baseline, const std::string& path, const CheckOptions& options,
                  const RunProgress& progress = {});

// The baseline with what was found, tolerances and choice of metrics kept; points that were not run keep theirs. Throws
// InputError when a point did not run, or lacks a metric.
Baseline updated(const Baseline& baseline, const CheckResult& result);

// A line per point, "ok" or "FAIL"; below a failed one each metric that is outside: expected, found, change, what is
// allowed. Where the baseline has several seeds of a point, what is noise says so below it. The last line says how
// many.
std::string check_text(const CheckResult& result);

// For an update: per point what changed, within the tolerances or not.
std::string update_text(const CheckResult& result);

// <testsuites> with one <testsuite> per baseline and one <testcase> per point; <failure> for one that changed, <error>
// for one that did not run. The same bytes for the same results: no times, no date, no host.
std::string junit_xml(const std::vector<CheckResult>& results);

}  // namespace uvmsim::baseline
