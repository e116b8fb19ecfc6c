// `uvmsim compare A B`: what changed between two files of results, or two sweeps.
#pragma once

#include <string>
#include <vector>

namespace uvmsim::cli {

// Prints to standard output; arguments are those after "compare". Exit code 0, or with --fail 1 when something changed.
// Throws InputError.
int compare_command(const std::vector<std::string>& arguments);

}  // namespace uvmsim::cli
