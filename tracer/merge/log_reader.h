// SPDX-License-Identifier: Apache-2.0
// Reads an event log (../log/README.md), plain or zstd-compressed, into memory.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tracer/merge/event.h"

namespace uvmtrace {

// Both throw uvmsim::InputError naming file and line for a file that cannot be read, a first line that is not a header
// of version 1 or belongs to another pass than expected, text that is not JSON, a missing key, and an impossible value.
// An incomplete last line without its newline is dropped (a killed program). Unknown keys are skipped, unknown types
// are counted.
PassLog read_log(const std::string& path, std::optional<Pass> expected);
PassLog read_log(std::string_view text, std::string name, std::optional<Pass> expected);

}  // namespace uvmtrace
