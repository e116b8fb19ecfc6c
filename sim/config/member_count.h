// SPDX-License-Identifier: Apache-2.0
// Number of members of a plain struct, so that a table of its members cannot silently lack one.
#pragma once

#include <cstddef>

namespace uvmsim::config {

namespace internal {
struct AnyMember {
  template <class T>
  constexpr operator T() const;  // never called: only the conversion has to exist
};
}  // namespace internal

template <class Struct, class... Members>
consteval std::size_t member_count() {
  if constexpr (requires { Struct{Members{}..., internal::AnyMember{}}; }) {
    return member_count<Struct, Members..., internal::AnyMember>();
  } else {
    return sizeof...(Members);
  }
}

}  // namespace uvmsim::config
