// SPDX-License-Identifier: Apache-2.0
// Experiments that a known system "measured": simulated on it and written down as a GPU's would be.
#pragma once

#include <string>

#include "sim/config/system.h"

namespace uvmsim::validate {

// A dozen of them, ordered and streams, as JSON lines.
std::string simulated_experiments(const config::SystemConfig& machine);

}  // namespace uvmsim::validate
