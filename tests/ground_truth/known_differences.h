// SPDX-License-Identifier: Apache-2.0
// The list of checks that are known not to hold: known_differences.txt. It must be exact both ways, so that it cannot
// rot: a check that fails and is not listed fails the test, and so does a listed one that holds.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace uvmsim::ground_truth {

// Checks outside their tolerances, by what was checked: {"seq_s1_r_host", {"time"}}.
using Differences = std::map<std::string, std::set<std::string>>;

// Lines "name: check, check"; # begins a comment. Throws std::runtime_error naming the line for anything else.
Differences load_known_differences();

// One line for each entry in which `found` differs from the list, for the names in `checked` only. Empty = as listed.
// With UVMSIM_UPDATE_GROUND_TRUTH in the environment the list is made to say what was found (comments stay; run
// the tests one after the other then).
std::vector<std::string> compare_with_known(const Differences& found, const std::set<std::string>& checked);

}  // namespace uvmsim::ground_truth
