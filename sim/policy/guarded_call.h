// SPDX-License-Identifier: Apache-2.0
// Calls code of a plug-in: an exception of any type becomes an error that says whose, and where; an InputError, which
// says what its user got wrong, stays one.
#pragma once

#include <exception>
#include <utility>

#include "sim/common/check.h"
#include "sim/common/error.h"
#include "sim/policy/plugin_call.h"

namespace uvmsim::policy {

template <class F>
decltype(auto) guarded_call(const PluginCall& call, F&& f) {
  const InPluginCall inside(call);
  try {
    return std::forward<F>(f)();
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    throw ModelError(describe(call) + " threw: " + error.what());
  } catch (...) {
    throw ModelError(describe(call) + " threw something that is no std::exception");
  }
}

}  // namespace uvmsim::policy
