// uvmsim sweep SPEC -o DIR; uvmsim sweep plan|run|status|collect
#pragma once

#include <string>
#include <vector>

namespace uvmsim::cli {

int sweep_command(const std::vector<std::string>& arguments);

}  // namespace uvmsim::cli
