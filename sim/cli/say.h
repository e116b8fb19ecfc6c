// SPDX-License-Identifier: Apache-2.0
// Prints one line on standard error, for people, beside the command's output. File names and foreign text are made
// plain text (common/plain_text.h).
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <utility>

#include "sim/common/plain_text.h"

namespace uvmsim::cli {

template <class... Values>
void say(fmt::format_string<Values...> line, Values&&... values) {
  fmt::print(stderr, "{}\n", plain_line(fmt::format(line, std::forward<Values>(values)...)));
}

// Prints "uvmsim: warning: ..."
template <class... Values>
void warn(fmt::format_string<Values...> line, Values&&... values) {
  say("uvmsim: warning: {}", fmt::format(line, std::forward<Values>(values)...));
}

}  // namespace uvmsim::cli
