// `uvmsim scenario FILE.json`: several programs at once on one server.
#pragma once

#include <string>
#include <vector>

namespace uvmsim::cli {

// Arguments are those after "scenario". Throws InputError; returns the exit code.
int scenario_command(const std::vector<std::string>& arguments);

}  // namespace uvmsim::cli
