// SPDX-License-Identifier: Apache-2.0
// The versions of the model and of the policies that computed a result. A version is the SHA-256 of the preprocessed
// tokens of the sources, taken when the library was built: it is equal for all builds of the same sources, and comments
// and white space do not change it.
#pragma once

#include <string>
#include <string_view>

#include "sim/policy/slots.h"

namespace uvmsim::sweep {

// The version of the model without the built-in policies: of the rooms of sim/ that affect results.
const char* model_version();
// The version of a built-in policy: of its file and of the files of policies/ that it includes. A plug-in's policy has
// an empty one.
std::string_view policy_version(policy::Slot slot, std::string_view name);
// The version of all built-in policies together.
const std::string& policies_version();

}  // namespace uvmsim::sweep
