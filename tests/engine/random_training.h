// SPDX-License-Identifier: Apache-2.0
// Random programs with iterations that all do the same, and results as text to compare.
#pragma once

#include <string>

#include "tests/engine/program.h"

namespace uvmsim {

// Parameters, and three iterations: they allocate, copy, launch and free at random, and leave one object to the next
// one, or to what follows.
Program random_training(std::uint64_t seed);

std::string text_of(const Counters& counters);
std::string text_of(const RunResult& result);

}  // namespace uvmsim
