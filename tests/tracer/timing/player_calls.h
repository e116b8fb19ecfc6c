// SPDX-License-Identifier: Apache-2.0
// Plays one driver call of a script: both callbacks of CUPTI, with the parameters of the script's line.
#pragma once

#include <nlohmann/json.hpp>

namespace player {

// `line` has "call", which is the name of a driver function with its version, and the function's parameters. Optional
// are "corr" (default: counted up), "result" (default 0) and "context" (default 1). Ends the program on an unknown
// call.
void play_call(const nlohmann::json& line);

// Changes the GPU's memory as a line of a call, or of another process, says.
void change_memory(const nlohmann::json& line);

}  // namespace player
