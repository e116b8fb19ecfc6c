// SPDX-License-Identifier: Apache-2.0
// The key `harvest` of scenario files: which parts of HUVM's driver are switched on.
#pragma once

#include <nlohmann/json.hpp>

#include "sim/driver/harvest_choice.h"
#include "sim/formats/json_value.h"

namespace uvmsim::scenario {

// Throws InputError, one line: the file, the JSON pointer of the key, what is allowed.
HarvestChoice read_harvest(const JsonValue& object);
nlohmann::ordered_json harvest_json(const HarvestChoice& choice);
nlohmann::ordered_json harvest_schema();

}  // namespace uvmsim::scenario
