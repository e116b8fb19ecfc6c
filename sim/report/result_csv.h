// SPDX-License-Identifier: Apache-2.0
// Results as CSV (RFC 4180): a header, then one row per iteration and one for the whole run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/report/run_record.h"

namespace uvmsim::report {

// One row as (column, value), with the same columns in the same order for every run. It is also a row of the database.
using ResultRow = std::vector<std::pair<std::string, std::string>>;

// The iterations in order (column `scope` is "iteration"), then the whole run ("total").
std::vector<ResultRow> result_rows(const RunRecord& record);

std::string result_csv_header();
// Formats the rows of one run, each ending in a newline.
std::string result_csv_rows(const RunRecord& record);

}  // namespace uvmsim::report
