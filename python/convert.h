// SPDX-License-Identifier: Apache-2.0
// Converts values between Python and the simulator.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "sim/memory/page_mask.h"
#include "sim/policy/policy.h"

namespace uvmsim::python {

// A page mask is an int in Python: bit p is page p of the block.
pybind11::object to_python(const PageMask& mask);
// Throws TypeError or ValueError; `what` begins the message: "prefetch policy 'mine': prefetch()".
PageMask to_mask(const pybind11::handle& value, const std::string& what);

// A chunk or block is an int; no chunk is None.
pybind11::object to_python(ChunkId chunk);
ChunkId to_chunk(const pybind11::handle& value, const std::string& what);

}  // namespace uvmsim::python
