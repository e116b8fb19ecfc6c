// SPDX-License-Identifier: Apache-2.0
// The values that a loader writes into a policy's maps before it runs: `--map` when the policy is built, and a
// parameter per entry of its small arrays of integers: `--evict quota:config_0=2`.
#pragma once

#include <memory>
#include <vector>

#include "bpf/host/map.h"
#include "sim/policy/parameters.h"

namespace uvmsim::bpf {

policy::ParameterTable parameters_of_maps();
void fill_maps(const policy::Parameters& parameters, const std::vector<std::unique_ptr<Map>>& maps);

}  // namespace uvmsim::bpf
