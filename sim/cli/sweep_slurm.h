// uvmsim sweep slurm DIR [options]
#pragma once

#include <string>
#include <vector>

namespace uvmsim::cli {

// `arguments`: what follows the verb.
int sweep_slurm(const std::vector<std::string>& arguments);

}  // namespace uvmsim::cli
