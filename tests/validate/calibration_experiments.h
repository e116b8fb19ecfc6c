// SPDX-License-Identifier: Apache-2.0
// Experiments "measured" on a known system: simulated on it and written in the format of measurements on a GPU.
#pragma once

#include <string>

#include "sim/config/system.h"

namespace uvmsim::validate {

// Returns a dozen experiments, ordered ones and streams, as JSON lines.
std::string simulated_experiments(const config::SystemConfig& machine);

}  // namespace uvmsim::validate
