// SPDX-License-Identifier: Apache-2.0
// Policies written in Python: registered like those of a plug-in.
#pragma once

#include <pybind11/pybind11.h>

namespace uvmsim::python {

// Adds what policies see and declare to the module, and register_policy().
void add_policies(pybind11::module_& module);

}  // namespace uvmsim::python
