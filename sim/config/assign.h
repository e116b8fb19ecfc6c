// SPDX-License-Identifier: Apache-2.0
// Checked assignment of one parameter, for files and --set alike.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/config/schema.h"

namespace uvmsim::config {

// Stores a JSON scalar: an integer in the parameter's base unit, a text with a unit ("6 us"), true or false, a word.
// `where` starts the message ("FILE: /costs/batch_ns"). Throws InputError: wrong type, negative, fraction, wrong unit,
// unknown word, out of range.
void assign(const Parameter& parameter, const nlohmann::ordered_json& value, const std::string& where);

}  // namespace uvmsim::config
