// SPDX-License-Identifier: Apache-2.0
// Applies one system file to a system: the part of the loader that knows the file format. --set uses the same code for
// a single parameter.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/config/schema.h"

namespace uvmsim::config {

// Overwrites `config` with the file's values and records their sources. Groups are merged key by key, and so are the
// elements of a list of the same length; a list of another length, and one that names another model of GPU, replaces
// the old list. "$schema" and "extends" are left to the caller. `file` starts every message. Throws InputError: unknown
// key, wrong type or value, no source.
void apply_system_file(SystemConfig& config, const nlohmann::ordered_json& document, const std::string& file);

// Stores a JSON scalar: an integer in the parameter's base unit, a text with a unit ("6 us"), true or false, a word.
// `where` starts the message ("FILE: /costs/batch_ns"). Throws InputError: wrong type, negative, fraction, wrong unit,
// unknown word, out of range.
void assign(const Parameter& parameter, const nlohmann::ordered_json& value, const std::string& where);

// Called after all files: checks that required values are stated, and gives the others the source "uvmsim default".
// Throws InputError.
void complete_system(SystemConfig& config, const std::string& file);

}  // namespace uvmsim::config
