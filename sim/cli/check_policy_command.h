// `uvmsim check-policy`: does a policy keep its contract?
#pragma once

#include <string>
#include <vector>

namespace uvmsim::cli {

// Returns 1 when something is wrong with the policy.
int check_policy_command(const std::vector<std::string>& arguments);

}  // namespace uvmsim::cli
