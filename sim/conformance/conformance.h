// SPDX-License-Identifier: Apache-2.0
// Does a policy keep its slot's contract? Runs it on tiny GPUs, on random blocks, in whole programs, and says what is
// wrong. For authors of policies: `uvmsim check-policy`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/conformance/isolated.h"
#include "sim/policy/registry.h"

namespace uvmsim::conformance {

struct Verdict {
  std::string check;  // one or two words
  bool passed = false;
  std::string text;  // what was done, or what is wrong
};

struct CheckOptions {
  // Of the policy that is checked, and those beside it.
  std::shared_ptr<const policy::Registry> registry = policy::built_ins();
  policy::GivenParameters given = {};  // of the policy
  std::uint64_t seed = 1;              // of the histories and programs, and of the policy's own random numbers
  TimeLimits limits = {};              // per check; what takes longer does not end
  std::uint64_t programs = 24;  // whole random programs; as many of recurring iterations, and histories in proportion
};

// All checks of the policy's slot, in order. The policy must be in the registry. Each check runs in a process
//  of its own, so that a policy that crashes or does not return is a verdict too; call it from a program with
// one thread. Throws InputError for given parameters that the policy does not have.
std::vector<Verdict> check_policy(const policy::PolicyEntry& entry, const CheckOptions& options);

}  // namespace uvmsim::conformance
