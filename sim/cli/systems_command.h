// `uvmsim systems [NAME|FILE]`: which systems there are, and every figure of one with its source.
#pragma once

#include <string>
#include <vector>

namespace uvmsim::cli {

// Prints to standard output; returns the exit code. Arguments are those after "systems". Throws InputError.
int systems_command(const std::vector<std::string>& arguments);

}  // namespace uvmsim::cli
