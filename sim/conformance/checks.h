// SPDX-License-Identifier: Apache-2.0
// The single checks. Each returns a line on what it did, or throws an exception whose text says what is wrong.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/conformance/conformance.h"

namespace uvmsim::conformance {

class Wrong : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Calls `run` with the given parameters, then with each parameter and each pair of them at the
// ends of what they allow. Says how many;
// throws Wrong that names the parameter where `run` throws.
std::string try_parameters(const policy::PolicyEntry& entry, const CheckOptions& options,
                           const std::function<void(const policy::GivenParameters&)>& run);

// Some program, for policies of class D4; the history that a check makes up is another one.
policy::Future random_future(std::uint64_t seed);

std::string check_evictor_parameters(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_tiny_gpus(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_evictor_determinism(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_evictor_state(const policy::PolicyEntry& entry, const CheckOptions& options);

std::string check_prefetcher_parameters(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_random_blocks(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_prefetcher_determinism(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_prefetcher_state(const policy::PolicyEntry& entry, const CheckOptions& options);

std::string check_planner_parameters(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_tiny_machines(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_planner_determinism(const policy::PolicyEntry& entry, const CheckOptions& options);

std::string check_migrator_parameters(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_random_faults(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_migrator_determinism(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_migrator_state(const policy::PolicyEntry& entry, const CheckOptions& options);

std::string check_router_parameters(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_random_moves(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_router_determinism(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_router_state(const policy::PolicyEntry& entry, const CheckOptions& options);

std::string check_scheduler_parameters(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_random_turns(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_scheduler_determinism(const policy::PolicyEntry& entry, const CheckOptions& options);

std::string check_batch_parameters(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_random_batches(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_batch_determinism(const policy::PolicyEntry& entry, const CheckOptions& options);
std::string check_batch_state(const policy::PolicyEntry& entry, const CheckOptions& options);

// Random programs on tiny GPUs through the whole simulator, each twice.
std::string check_programs(const policy::PolicyEntry& entry, const CheckOptions& options);

// Programs of many equal iterations: what is left out because it recurs (engine/recurrence.h) against a full replay.
std::string check_skipped_iterations(const policy::PolicyEntry& entry, const CheckOptions& options);

}  // namespace uvmsim::conformance
