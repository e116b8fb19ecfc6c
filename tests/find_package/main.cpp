// SPDX-License-Identifier: Apache-2.0
// Links libuvmsim and makes a call that only works if the link kept the built-in policies.
#include <cstdio>

#include "sim/common/units.h"
#include "sim/common/version.h"
#include "sim/policy/registry.h"

int main() {
  static_assert(uvmsim::kPagesPerBlock * uvmsim::kBasePageBytes == uvmsim::kBlockBytes);
  std::printf("uvmsim %s, built-in policies:\n", uvmsim::version());
  const auto policies = uvmsim::policy::built_ins()->list();
  for (const uvmsim::policy::PolicyEntry* policy : policies) std::printf("  %s\n", policy->label().c_str());
  return policies.empty() ? 1 : 0;
}
