// `uvmsim run TRACE`: replay a trace on a system under one or several limits of GPU memory.
#pragma once

#include <string>
#include <vector>

namespace uvmsim::cli {

// Arguments are those after "run". Throws InputError; returns the exit code.
int run_command(const std::vector<std::string>& arguments);

}  // namespace uvmsim::cli
