// SPDX-License-Identifier: Apache-2.0
// Compiles the source of an eBPF policy into a plug-in, with an installed C compiler.
#pragma once

#include <string>
#include <vector>

#include "sim/policy/registry.h"

namespace uvmsim::cli {

struct BpfBuild {
  std::string source;
  std::string output;
  std::string name;
  std::string compiler;               // empty: $CC, else gcc, else clang
  std::vector<std::string> settings;  // "config[0]=5"
  bool verbose = false;
};

// Returns the folder with the headers (include) and our own policies (policies). Throws InputError if it is missing.
std::string bpf_folder();

// Returns the policy's name for a source file: "eviction_mru.bpf.c" -> eviction_mru
std::string bpf_policy_name(const std::string& source);

// Returns the policy, loaded. Throws InputError, one line, for an error in the source; no output is written then.
policy::Registry build_bpf_policy(const BpfBuild& build);

}  // namespace uvmsim::cli
