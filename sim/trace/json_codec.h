// SPDX-License-Identifier: Apache-2.0
// Records as JSON lines: the form that people read and write by hand. README.md lists the keys.
//
// A value that a record does not need is left out when it has its default; reading restores the default.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "sim/trace/record.h"

namespace uvmsim::trace {

// Appends one line with its "\n" to `out`. Throws InputError for a name that is not UTF-8.
void append_json(const Header& header, std::string& out);
void append_json(const Record& record, std::string& out);

// Parse one line without its end. They throw InputError (without file and line; the caller adds them) for text that is
// not a JSON object, an unknown record type, an unknown or missing key, a wrong type, or a value out of range. `record`
// is overwritten; its storage is reused.
Header parse_json_header(std::string_view line);
void parse_json_record(std::string_view line, Record& record);
AccessMode parse_access_mode(const nlohmann::ordered_json& value);  // "r", "w" or "rw"

}  // namespace uvmsim::trace
