// SPDX-License-Identifier: Apache-2.0
// A policy of uvmsim as a source for gpu_ext: our own where there is one, else what to begin with.
#pragma once

#include <string>

#include "sim/policy/registry.h"

namespace uvmsim::cli {

// C for eBPF, which `uvmsim bpf build` takes as it is. Throws InputError for slots that gpu_ext has no hooks for.
std::string as_bpf(const policy::PolicyEntry& entry);

}  // namespace uvmsim::cli
