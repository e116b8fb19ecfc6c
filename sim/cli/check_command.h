// `uvmsim check BASELINE`: run the points of a baseline again; a CI check of policies and of the model.
#pragma once

#include <string>
#include <vector>

namespace uvmsim::cli {

// Prints to standard output; arguments are those after "check". Exit code 0: all as expected, 1: not, 3: a bug in
// uvmsim or a plug-in. Throws InputError.
int check_command(const std::vector<std::string>& arguments);

}  // namespace uvmsim::cli
