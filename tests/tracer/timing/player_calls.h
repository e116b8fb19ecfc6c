// SPDX-License-Identifier: Apache-2.0
// Plays one driver call of a script: both callbacks of CUPTI, with the parameters of the script's line.
#pragma once

#include <nlohmann/json.hpp>

namespace player {

// `line` has "call", the name of a driver function with its version, and its parameters; "corr" (else counted up),
// "result" (0), "context" (1). Ends the program on a call that it does not know.
void play_call(const nlohmann::json& line);

// What a line says of the GPU's memory, which every call may change, and another process.
void change_memory(const nlohmann::json& line);

}  // namespace player
