// SPDX-License-Identifier: Apache-2.0
// Returns the text of the InputError that a call throws.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "sim/common/error.h"

namespace uvmsim {

template <class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no InputError";
  return "";
}

}  // namespace uvmsim
