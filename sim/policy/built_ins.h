// SPDX-License-Identifier: Apache-2.0
// The source files of built-in policies.
#pragma once

#include <span>

namespace uvmsim::policy {

class Registry;

struct BuiltIn {
  const char* file;  // its name without .cpp: the one given to UVMSIM_POLICY and uvmsim_add_policy()
  void (*add_to)(Registry& registry);
};

// Sorted by name. Defined in the file that CMake generates from the uvmsim_add_policy() calls.
std::span<const BuiltIn> built_in_files();

}  // namespace uvmsim::policy
