// SPDX-License-Identifier: Apache-2.0
// The changes that a programmer can make without changing a kernel: advice on memory, prefetch calls, discards, the
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
  std::vector<trace::HintRule> rules;      // rules to apply to the program
  std::string layout;                      // replaces the run's layout; empty: the same layout
  std::vector<std::string> cuda, pytorch;  // the lines of code to add
};

// Returns a text that is the same for changes that do the same.
std::string effect_of(const Change& change);

// Returns the changes that are worth a trial, the most promising first, given the waits in `memory`. `footprint_bytes`
// is all memory of the program, `capacity_bytes` the memory of the GPU.
std::vector<Change> changes_for(const Memory& memory, std::uint64_t footprint_bytes, std::uint64_t capacity_bytes,
                                const std::string& layout);

// Returns whether both can be made together: they do not contradict each other about the same memory.
bool go_together(const Change& a, const Change& b);

}  // namespace uvmsim::advise
