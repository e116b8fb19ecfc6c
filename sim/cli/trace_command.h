// `uvmsim trace`: inspect, convert, check, import and generate traces.
#pragma once

#include <string>
#include <vector>

namespace uvmsim::cli {

// Arguments are those after "trace". Prints to standard output; returns the exit code. Throws InputError.
int trace_command(const std::vector<std::string>& arguments);

}  // namespace uvmsim::cli
