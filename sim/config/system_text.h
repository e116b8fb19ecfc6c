// SPDX-License-Identifier: Apache-2.0
// A system as text: for results and files, for editors, for people.
#pragma once

#include <string>

#include "sim/config/system.h"

namespace uvmsim::config {

// The whole system as a system file that stands alone: every parameter as {"value": ..., "source": "..."}, keys in the
// order of the schema. Loading it gives the same system. Ends in a newline.
std::string resolved_json(const SystemConfig& config);

// The values alone, for results: {"name": ..., "costs": {"batch_ns": 6000, ...}, ...}. Not a system file.
std::string values_json(const SystemConfig& config);

// The defaults, with one entry in every list: every key that a system file may state is there.
SystemConfig with_every_key();

// The JSON schema of system files: configs/system.schema.json. Ends in a newline.
std::string system_file_schema();

// Every parameter with value, unit, meaning and a number that refers to the list of sources at the end.
std::string system_report(const SystemConfig& config);

}  // namespace uvmsim::config
