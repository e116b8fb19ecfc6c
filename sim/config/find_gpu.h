// SPDX-License-Identifier: Apache-2.0
// The GPU that a recording names, among the systems.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/system.h"

namespace uvmsim::config {

// The first GPU of this model (letter case apart) in `likely`, else in the systems of the search path, by name. Systems
// that cannot be loaded are left out. Absent when there is none.
std::optional<GpuConfig> find_gpu(const std::string& model, const SystemConfig& likely,
                                  const std::vector<std::string>& search_path);

}  // namespace uvmsim::config
