// SPDX-License-Identifier: Apache-2.0
// The list of checks that are known not to hold: known_differences.txt. It must be exact in both directions, so that it
// stays up to date: the test fails if a check fails that is not listed, or if a listed one holds.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace uvmsim::ground_truth {

// Checks outside their tolerances, by name of experiment or class: {"seq_s1_r_host", {"time"}}.
using Differences = std::map<std::string, std::set<std::string>>;

// Reads lines "name: check, check"; # begins a comment. Throws std::runtime_error naming the line for any other text.
Differences load_known_differences();

// Returns one line for each entry in which `found` differs from the list, only for the names in `checked`; empty if
// there is no difference. With UVMSIM_UPDATE_GROUND_TRUTH in the environment, updates the list to `found` (comments
// stay; run the tests one after the other then).
std::vector<std::string> compare_with_known(const Differences& found, const std::set<std::string>& checked);

}  // namespace uvmsim::ground_truth
