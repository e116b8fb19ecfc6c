// SPDX-License-Identifier: Apache-2.0
// Formats a system as text: for results and files, for editors, for people.
#pragma once

#include <string>

#include "sim/config/system.h"

namespace uvmsim::config {

// Formats the whole system as a self-contained system file: every parameter as {"value": ..., "source": "..."}, keys in
// the order of the schema. Loading it gives the same system. Ends in a newline.
std::string resolved_json(const SystemConfig& config);

// Formats only the values, for results: {"name": ..., "costs": {"batch_ns": 6000, ...}, ...}. Not a system file.
std::string values_json(const SystemConfig& config);

// Returns the defaults with one entry in every list, so that every key of a system file is present.
SystemConfig with_every_key();

// Returns the JSON schema of system files: configs/system.schema.json. Ends in a newline.
std::string system_file_schema();

// Lists every parameter with value, unit, meaning and a number that refers to the list of sources at the end.
std::string system_report(const SystemConfig& config);

}  // namespace uvmsim::config
