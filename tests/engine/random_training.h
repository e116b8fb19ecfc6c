// SPDX-License-Identifier: Apache-2.0
// Random programs with iterations that are all equal, and results as text to compare.
#pragma once

#include <string>

#include "tests/engine/program.h"

namespace uvmsim {

// Returns a program with parameters and three iterations, which allocate, copy, launch and free at random. Each leaves
// one object to the next iteration, or to the rest of the program.
Program random_training(std::uint64_t seed);

std::string text_of(const Counters& counters);
std::string text_of(const RunResult& result);

}  // namespace uvmsim
