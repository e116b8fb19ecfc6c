// SPDX-License-Identifier: Apache-2.0
// The values that are written into a policy's maps before it runs, as a loader would. `--map` sets them when the policy
// is built; each entry of its small integer arrays is also a parameter: `--evict quota:config_0=2`.
#pragma once

#include <memory>
#include <vector>

#include "bpf/host/map.h"
#include "sim/policy/parameters.h"

namespace uvmsim::bpf {

policy::ParameterTable parameters_of_maps();
void fill_maps(const policy::Parameters& parameters, const std::vector<std::unique_ptr<Map>>& maps);

}  // namespace uvmsim::bpf
