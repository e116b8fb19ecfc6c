// SPDX-License-Identifier: Apache-2.0
// Determines the source of a launch's accesses: the instrumentation, the framework's operator around it, or its
// parameters.
#pragma once

#include <string_view>
#include <vector>

#include "tracer/merge/resolve.h"

namespace uvmtrace {

// Kernels of cuBLAS, cuDNN, CUTLASS and others that may load operands by tensor copies (TMA), for which the
// instrumentation has no hook (Compute Sanitizer 2025.4 documentation).
bool may_use_tensor_copies(std::string_view kernel_name);

// Returns whether the instrumentation must have missed operands. This is so if one of the things of at least a page
// that the launch was given (`given`: the operator's tensors, else the targets of its parameters) has no mark at all,
// or if nothing was given and the launch touched no more than two pages (its workspace).
bool misses_operands(const std::vector<Slot>& touched, const std::vector<Slot>& given, const World& world);

// Returns `touched`, extended by the things in `given` that it lacks, ascending by thing.
std::vector<Slot> with_missing(std::vector<Slot> touched, const std::vector<Slot>& given);

// Returns the union of both by thing, ascending; for things in both, the union of their extents.
std::vector<Slot> with_extents(const std::vector<Slot>& a, const std::vector<Slot>& b);

// Returns whether `given` has a thing that `known` does not have.
bool names_others(const std::vector<Slot>& known, const std::vector<Slot>& given);

// Gives `slots` the modes that `given` has for the same things; returns true if it has all of them.
bool take_modes(std::vector<Slot>& slots, const std::vector<Slot>& given);

// Returns the whole of every thing that a parameter points into, read and written. Memory that a framework divides into
// tensors counts only where a tensor is. By thing, ascending.
std::vector<Slot> of_parameters(const std::vector<std::uint64_t>& addresses, const World& world);

}  // namespace uvmtrace
