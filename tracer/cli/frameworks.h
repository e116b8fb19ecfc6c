// SPDX-License-Identifier: Apache-2.0
// Programs that compile their kernels or choose them by timing when they run first: how they are recognised, and the
// environment that makes what they choose the same in every run.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace uvmtrace {

struct Frameworks {
  bool torch_compile = false, triton = false, jax = false;

  bool any() const { return torch_compile || triton || jax; }
  std::string names() const;  // "torch.compile, JAX"
  static Frameworks all() { return {true, true, true}; }
};

// By what the Python files say that the command line names, and the modules beside them that they import:
// torch.compile, and imports of Triton and JAX (or of Flax, which stands on it).
Frameworks frameworks_of(const std::vector<std::string>& program);

struct Setting {
  std::string name, value;
  std::string shown;  // for the trace's header: without the folder of this recording
};

// Returns settings for recorded runs and the warm-up before them. Settings of the caller's environment stay.
// `cache_folder`: where JAX keeps what the warm-up compiled; empty if there is none, then XLA chooses without timing.
std::vector<Setting> repeatable_settings(const Frameworks& frameworks, const std::string& cache_folder);

}  // namespace uvmtrace
