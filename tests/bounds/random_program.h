// SPDX-License-Identifier: Apache-2.0
// Random programs, and systems to run them on, for which the bounds must hold.
#pragma once

#include "sim/common/random.h"
#include "tests/engine/program.h"

namespace uvmsim {

struct RandomProgramOptions {
  std::uint64_t largest_object_pages = 2048;
  unsigned objects = 6;
  unsigned records = 40;
  bool streams = true;   // several streams, with and without events
  bool host = true;      // CPU accesses, copies, prefetches
  bool advice = true;    // hints and discards
  bool tensors = false;  // of a framework instead of objects
  unsigned gpus = 1;
};

// The same seed gives the same program.
Program random_program(Random& random, const RandomProgramOptions& options);

// Returns the plain system with other links, and with costs of the driver that may be zero: then hardly anything but
// the links and the kernels themselves takes time.
config::SystemConfig random_system(Random& random);

}  // namespace uvmsim
