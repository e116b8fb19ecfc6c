// SPDX-License-Identifier: Apache-2.0
// One line on standard error: what a command tells people beside its output. Names of files and what strangers wrote
// are plain text there (common/plain_text.h).
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

// "uvmsim: warning: ..."
template <class... Values>
void warn(fmt::format_string<Values...> line, Values&&... values) {
  say("uvmsim: warning: {}", fmt::format(line, std::forward<Values>(values)...));
}

}  // namespace uvmsim::cli
