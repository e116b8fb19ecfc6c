// SPDX-License-Identifier: Apache-2.0
// A program as a sequence of steps, and what each asks of GPU memory.
//
// A step is as short a run of operations as is certain to be over before all that follow begin: one operation in a
// program of one stream; what may run side by side is one step. Within a step nothing is known about order, so a page
// needs to be on a GPU at some time of it, and that is all (reference model m3: kernels larger than memory make
// progress). Between two steps GPU memory holds at most its capacity.
//
// Pages never touched hold nothing: their first touch on a GPU moves no bytes. A page that a GPU used stays there, or
// is written back to the host, for UVM moves pages; only what is freed or discarded needs no writing back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/bounds/program.h"

namespace uvmsim::bounds {

// Pages that a GPU used in step `from` and not since, up to the step that ends it. They stay on the GPU at every border
// between the two, or ...
struct Interval {
  std::size_t from = 0;
  std::uint64_t pages = 0;
  enum class End : std::uint8_t {
    kReused,     // ... go to the host and come back
    kDropped,    // freed or discarded: ... go to the host
    kTaken,      // by the host: they go there anyway
    kForgotten,  // what happens to them from here on is not known
    kCold,       // no such pages: the host has had them since `from`, and now they come to a GPU for the first time
  } end = End::kReused;
};

struct Step {
  std::size_t end_operation = 0;    // of Program::operations
  std::uint64_t cold_pages = 0;     // of the intervals of that kind
  std::uint64_t fresh_pages = 0;    // that a GPU uses now and did not before, the cold ones too
  std::vector<Interval> intervals;  // that end here; each `from` once per kind of end
};

struct Steps {
  std::vector<Step> steps;
  std::vector<Interval> open;  // at the end of the program
};

Steps cut_into_steps(const Program& program, const config::SystemConfig& system);

}  // namespace uvmsim::bounds
