// SPDX-License-Identifier: Apache-2.0
// The runs of a sweep's database (results.sqlite; ../sweep/README.md has its tables).
#pragma once

#include <string>
#include <vector>

#include "sim/compare/read_runs.h"

namespace uvmsim::compare {

// A file that begins like one of SQLite.
bool is_database(const std::string& path);

// Visits the result of every point, less its iterations, and returns what is missing. Throws InputError that names the
// file and the table: not of a sweep, damaged.
std::vector<std::string> read_database(const std::string& path, const ResultVisitor& visit);

}  // namespace uvmsim::compare
