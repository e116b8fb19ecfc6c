// SPDX-License-Identifier: Apache-2.0
// Recognises programs that compile their kernels or choose them by timing during their first run, and gives the
// environment that makes their choices the same in every run.
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

// Returns the frameworks that the program uses, according to the Python files of the command line and the modules
// beside them that they import: torch.compile, Triton and JAX (or Flax, which is based on it).
Frameworks frameworks_of(const std::vector<std::string>& program);

struct Setting {
  std::string name, value;
  std::string shown;  // for the trace's header: without the folder of this recording
};

// Returns settings for recorded runs and the warm-up before them. Settings of the caller's environment stay.
// `cache_folder` is where JAX keeps the programs that the warm-up compiled; if it is empty, XLA is set to choose
// without timing.
std::vector<Setting> repeatable_settings(const Frameworks& frameworks, const std::string& cache_folder);

}  // namespace uvmtrace
