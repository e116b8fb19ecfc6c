// SPDX-License-Identifier: Apache-2.0
// One system file laid over a system: the part of the loader that knows the file format. What it does with one
// parameter, --set does too.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/config/schema.h"

namespace uvmsim::config {

// Overwrites `config` with what the file states and records the sources. Lists replace the ones that are there; groups
// are merged key by key. "$schema" and "extends" are left to the caller. `file` starts every message. Throws
// InputError: unknown key, wrong type or value, no source.
void apply_system_file(SystemConfig& config, const nlohmann::ordered_json& document, const std::string& file);

// Stores a JSON scalar: an integer in the parameter's base unit, a text with a unit ("6 us"), true or false, a word.
// `where` starts the message ("FILE: /costs/batch_ns"). Throws InputError: wrong type, negative, fraction, wrong unit,
// unknown word, out of range.
void assign(const Parameter& parameter, const nlohmann::ordered_json& value, const std::string& where);

// After all files: what a system has to state is stated, the rest gets the source "uvmsim default". Throws InputError.
void complete_system(SystemConfig& config, const std::string& file);

}  // namespace uvmsim::config
