// SPDX-License-Identifier: Apache-2.0
// Which hooks a policy class overrides, found when it is compiled.
#pragma once

#include <type_traits>

// Whether `Class` or a base of it below `Base` has its own `hook`, a public function of `Base`; also where it is
// private there. Inside templates only.
#define UVMSIM_OVERRIDES(Class, Base, hook)                                  \
  ([] {                                                                      \
    if constexpr (requires { &Class::hook; }) {                              \
      return !std::is_same_v<decltype(&Class::hook), decltype(&Base::hook)>; \
    } else {                                                                 \
      return true;                                                           \
    }                                                                        \
  }())
