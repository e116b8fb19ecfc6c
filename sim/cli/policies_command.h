// `uvmsim policies [NAME]`: which policies there are, and what each does and can be set to.
#pragma once

#include <string>
#include <vector>

namespace uvmsim::cli {

// Prints to standard output; returns the exit code. Arguments are those after "policies". Throws InputError.
int policies_command(const std::vector<std::string>& arguments);

}  // namespace uvmsim::cli
