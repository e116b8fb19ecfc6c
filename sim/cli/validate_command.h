// `uvmsim validate`: replays a file of measured experiments and prints measured against simulated.
#pragma once

#include <string>
#include <vector>

#include "sim/validate/compare.h"

namespace uvmsim::cli {

// Exit code 0: within the tolerances, 1: outside. Throws InputError.
int validate_command(const std::vector<std::string>& arguments);

// "ordered_time=25": one tolerance in percent, at most one digit after the point. Throws InputError.
void set_tolerance(validate::Tolerances& tolerances, const std::string& assignment);

}  // namespace uvmsim::cli
