// SPDX-License-Identifier: Apache-2.0
// Policies written in Python: registered like those of a plug-in.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "sim/policy/registry.h"

namespace uvmsim::python {

// Adds the types that policies see and declare to the module, and register_policy(), which adds to the registry.
void add_policies(pybind11::module_& module, const std::shared_ptr<policy::Registry>& registry);

}  // namespace uvmsim::python
