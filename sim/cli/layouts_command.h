// `uvmsim layouts`: lists the layouts, their parameters, and what a trace takes under each.
#pragma once

#include <string>
#include <vector>

namespace uvmsim::cli {

int layouts_command(const std::vector<std::string>& arguments);

}  // namespace uvmsim::cli
