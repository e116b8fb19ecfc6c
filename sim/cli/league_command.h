// `uvmsim league`: all policies against each other.
#pragma once

#include <string>
#include <vector>

namespace uvmsim::cli {

int league_command(const std::vector<std::string>& arguments);

}  // namespace uvmsim::cli
