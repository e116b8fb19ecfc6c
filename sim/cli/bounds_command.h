// `uvmsim bounds`: how fast a program can be at best, whatever the policies do (sim/bounds).
#pragma once

#include <string>
#include <vector>

namespace uvmsim::cli {

int bounds_command(const std::vector<std::string>& arguments);

}  // namespace uvmsim::cli
