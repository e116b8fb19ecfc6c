// SPDX-License-Identifier: Apache-2.0
// Compiles the source of an eBPF policy into a plug-in, with the compiler for C that there is.
#pragma once

#include <string>
#include <vector>

#include "sim/policy/registry.h"

namespace uvmsim::cli {

struct BpfBuild {
  std::string source;
  std::string output;
  std::string name;                   // of the policy
  std::string compiler;               // empty: $CC, else gcc, else clang
  std::vector<std::string> settings;  // "config[0]=5"
  bool verbose = false;
};

// The folder with the headers (include) and our own policies (policies). Throws InputError where there is none.
std::string bpf_folder();

// "eviction_mru.bpf.c" -> eviction_mru
std::string bpf_policy_name(const std::string& source);

// The policy, loaded. Throws InputError, one line, for what is wrong with the source; then there is no output.
policy::Registry build_bpf_policy(const BpfBuild& build);

}  // namespace uvmsim::cli
