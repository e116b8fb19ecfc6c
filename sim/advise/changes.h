// SPDX-License-Identifier: Apache-2.0
// The changes that a programmer can make without changing a kernel: advice on memory, prefetch calls, discard, the
// allocator. Each change is a few rules of a hint file (edit/hints.h), or another layout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/advise/objects.h"
#include "sim/edit/hints.h"

namespace uvmsim::advise {

struct Change {
  std::string what;                        // "read-mostly: allocation 3 (64.0 MiB)"
  std::vector<trace::HintRule> rules;      // in the program
  std::string layout;                      // instead of the run's; empty: the same
  std::vector<std::string> cuda, pytorch;  // the lines to add
};

// Worth a try, guided by what waits: the most promising first. `capacity_bytes` is what the GPU has.
std::vector<Change> changes_for(const Memory& memory, std::uint64_t capacity_bytes, const std::string& layout);

// Both at once make sense: they do not say different things of the same memory.
bool go_together(const Change& a, const Change& b);

}  // namespace uvmsim::advise
