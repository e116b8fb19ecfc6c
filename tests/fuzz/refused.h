// SPDX-License-Identifier: Apache-2.0
// The duty of every reader: it refuses invalid bytes with an InputError of one line.
#pragma once

#include <cstdlib>
#include <string_view>

#include "sim/common/error.h"

namespace uvmsim::fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

// Calls f, which may throw only InputError. Returns whether it did not throw.
template <class F>
bool taken(F&& f) {
  try {
    f();
    return true;
  } catch (const InputError& error) {
    const std::string_view line = error.what();
    require(!line.empty() && line.find('\n') == std::string_view::npos);
    return false;
  }
}

}  // namespace uvmsim::fuzz
