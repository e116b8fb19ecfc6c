// SPDX-License-Identifier: Apache-2.0
// What a check found: for people, and as JUnit XML for CI.
#pragma once

#include <string>
#include <vector>

#include "sim/baseline/check.h"

namespace uvmsim::baseline {

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
