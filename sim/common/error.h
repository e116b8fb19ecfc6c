// SPDX-License-Identifier: Apache-2.0
// The only exception for mistakes of the user: a bad file, option, key or value.
//
// The message is one line that states the mistake, its place, and the allowed values. The command prints it after
// "uvmsim: error: " and exits with 2. Bugs are reported by assertions (UVMSIM_CHECK in check.h), never by this
// exception.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "sim/common/one_line.h"

namespace uvmsim {

// Messages contain texts of the user's, whose control characters become '?'.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::string message) : std::runtime_error(one_line(std::move(message))) {}
};

// throw_input_error("{}: line {}: unknown record '{}'; allowed: {}", file, line, type, list)
template <class... Args>
[[noreturn]] void throw_input_error(fmt::format_string<Args...> format, Args&&... args) {
  throw InputError(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace uvmsim
