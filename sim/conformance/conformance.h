// SPDX-License-Identifier: Apache-2.0
// Checks that a policy fulfils its slot's contract: runs it on tiny GPUs, on random blocks and in whole programs, and
// reports violations. For authors of policies: `uvmsim check-policy`.
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
  std::string text;  // what was done, or the violation
};

struct CheckOptions {
  // Holds the checked policy and those that run beside it.
  std::shared_ptr<const policy::Registry> registry = policy::built_ins();
  policy::GivenParameters given = {};  // the policy's parameters
  std::uint64_t seed = 1;              // of the histories and programs, and of the policy's own random numbers
  TimeLimits limits = {};              // per check; a check that takes longer counts as endless
  // whole random programs; the same number with recurring iterations, and a proportional number of histories
  std::uint64_t programs = 24;
};

// Runs all checks of the policy's slot, in order. The policy must be in the registry. Each check runs in a process of
// its own, so that a crash or an endless call is a verdict too; the caller must have only one thread. Throws InputError
// for given parameters that the policy does not have.
std::vector<Verdict> check_policy(const policy::PolicyEntry& entry, const CheckOptions& options);

}  // namespace uvmsim::conformance
