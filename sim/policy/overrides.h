// SPDX-License-Identifier: Apache-2.0
// Detects at compile time which hooks a policy class overrides.
#pragma once

#include <type_traits>

// Tells whether `Class`, or a base of it below `Base`, overrides `hook`, a public function of `Base`, even as a private
// member. It works only inside templates.
#define UVMSIM_OVERRIDES(Class, Base, hook)                                  \
  ([] {                                                                      \
    if constexpr (requires { &Class::hook; }) {                              \
      return !std::is_same_v<decltype(&Class::hook), decltype(&Base::hook)>; \
    } else {                                                                 \
      return true;                                                           \
    }                                                                        \
  }())
