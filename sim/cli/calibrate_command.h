// `uvmsim calibrate`: fit a system's costs to measured experiments.
#pragma once

#include <string>
#include <vector>

namespace uvmsim::cli {

// Arguments are those after "calibrate". Prints to standard output; returns the exit code. Throws InputError.
int calibrate_command(const std::vector<std::string>& arguments);

}  // namespace uvmsim::cli
