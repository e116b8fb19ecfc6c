// SPDX-License-Identifier: Apache-2.0
// The one exception for mistakes of the user: a bad file, option, key or value.
//
// The message is one line that says what is wrong, where, and what is allowed. The command prints it after
// "uvmsim: error: " and exits with 2. Our own mistakes are assertions (UVMSIM_CHECK in check.h), never this.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "sim/common/one_line.h"

namespace uvmsim {

// Texts of the user's are in messages, and may have control characters: these become '?'.
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
