// SPDX-License-Identifier: Apache-2.0
// A policy of uvmsim as a source for gpu_ext: uvmsim's own source if there is one, else a skeleton to begin with.
#pragma once

#include <string>

#include "sim/policy/registry.h"

namespace uvmsim::cli {

// Returns C for eBPF, which `uvmsim bpf build` takes as it is. Throws InputError for slots without hooks in gpu_ext.
std::string as_bpf(const policy::PolicyEntry& entry);

}  // namespace uvmsim::cli
