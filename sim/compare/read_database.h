// The runs of a sweep's database (results.sqlite; ../sweep/README.md has its tables).
#pragma once

#include <string>

#include "sim/compare/read_runs.h"

namespace uvmsim::compare {

// A file that begins like one of SQLite.
bool is_database(const std::string& path);

// Adds the points and what is missing. Throws InputError that names the file and the table: not of a sweep, damaged.
void read_database(const std::string& path, RunSet& set);

}  // namespace uvmsim::compare
