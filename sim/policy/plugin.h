// Loads policies from shared libraries: `uvmsim --plugin ./mine.so`.
#pragma once

#include <string>

#include "sim/policy/registry.h"

namespace uvmsim::policy {

// Adds the policy of a plug-in to the registry. The library stays loaded until the program ends.
// Throws InputError, and adds nothing, when the file cannot be loaded, is no plug-in, was built for another ABI version
// or standard library (the message names both), or brings a policy name that its slot already has.
void load_plugin(Registry& registry, const std::string& path);

}  // namespace uvmsim::policy
