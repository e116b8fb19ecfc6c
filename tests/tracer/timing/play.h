// SPDX-License-Identifier: Apache-2.0
// Runs the player on a script and reads its log.
#pragma once

#include <nlohmann/json.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

struct Played {
  int exit_status = -1;  // or minus the signal
  std::string standard_error;
  std::filesystem::path log;           // of the player; may not exist
  std::vector<nlohmann::json> events;  // whole lines only
  bool every_line_is_whole = true;     // but the last
  std::vector<std::filesystem::path> logs;

  std::vector<nlohmann::json> of(const std::string& type) const;
};

struct PlayOptions {
  std::map<std::string, std::string> environment = {};
  std::string library = UVMTRACE_TIMING_LIBRARY;
  std::string pass = "timing";
  // Runs in the player's process before it starts, with the folder of logs.
  std::function<void(const std::filesystem::path&)> prepare = {};
};

// `script` holds the player's JSON lines.
Played play(const std::string& script, const PlayOptions& options = {});
