// SPDX-License-Identifier: Apache-2.0
// A program as a sequence of steps, and the demand of each on GPU memory.
//
// A step is the shortest run of operations that is certainly over before all later operations begin: one operation in a
// program of one stream; operations that may overlap are one step. The order within a step is unknown: a page only has
// to be on a GPU at some time during it (reference model m3: kernels larger than memory make progress). Between two
// steps GPU memory holds at most its capacity.
//
// Pages never touched hold nothing: their first touch on a GPU moves no bytes. A page that a GPU used stays there, or
// is written back to the host, because UVM moves pages; only freed or discarded pages need no writing back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/bounds/program.h"

namespace uvmsim::bounds {

// Pages that a GPU used in step `from` and not since, up to the step that ends the interval. They stay on the GPU at
// every border between the two, or ...
struct Interval {
  std::size_t from = 0;
  std::uint64_t pages = 0;
  enum class End : std::uint8_t {
    kReused,     // ... go to the host and come back
    kDropped,    // freed or discarded: ... go to the host
    kTaken,      // the host takes them: they go there anyway
    kForgotten,  // their further location is unknown
    kCold,       // not such pages: the host has had them since `from`, and they come to a GPU for the first time now
  } end = End::kReused;
};

struct Step {
  std::size_t end_operation = 0;    // of Program::operations
  std::uint64_t cold_pages = 0;     // in intervals of kind kCold
  std::uint64_t fresh_pages = 0;    // pages that a GPU uses now for the first time, including the cold ones
  std::vector<Interval> intervals;  // intervals that end here; each `from` at most once per kind of end
};

struct Steps {
  std::vector<Step> steps;
  std::vector<Interval> open;  // at the end of the program
};

Steps cut_into_steps(const Program& program, const config::SystemConfig& system);

}  // namespace uvmsim::bounds
