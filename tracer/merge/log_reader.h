// SPDX-License-Identifier: Apache-2.0
// Reads an event log (../log/README.md), plain or zstd-compressed, into memory.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tracer/merge/event.h"

namespace uvmtrace {

// Both throw uvmsim::InputError naming file and line for a file that cannot be read, a first line that is no header of
// version 1 or of the other pass (when one is expected), text that is no JSON, a key that is missing, a value that
// cannot be. A last line without its newline that is not whole is dropped (a killed program). Keys that are not known
// are skipped, types that are not known are counted.
PassLog read_log(const std::string& path, std::optional<Pass> expected);
PassLog read_log(std::string_view text, std::string name, std::optional<Pass> expected);

}  // namespace uvmtrace
