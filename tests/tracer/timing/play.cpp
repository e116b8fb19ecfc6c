// SPDX-License-Identifier: Apache-2.0
#include "play.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace {
std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}
}  // namespace

std::vector<nlohmann::json> Played::of(const std::string& type) const {
  std::vector<nlohmann::json> found;
  for (const auto& event : events) {
    if (event.at("t") == type) found.push_back(event);
  }
  return found;
}

Played play(const std::string& script, const PlayOptions& options) {
  std::string folder = (std::filesystem::temp_directory_path() / "uvmtrace-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) std::abort();
  const std::filesystem::path base = folder;
  const std::filesystem::path logs = base / "logs";
  std::filesystem::create_directory(logs);
  std::ofstream(base / "script") << script;

  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("UVMTRACE_LOG_DIR", logs.c_str(), 1);
    ::setenv("NVTX_INJECTION64_PATH", options.library.c_str(), 1);
    for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
    if (options.prepare) options.prepare(logs);
    if (std::freopen((base / "err").c_str(), "w", stderr) == nullptr) std::_Exit(90);
    if (std::freopen((base / "out").c_str(), "w", stdout) == nullptr) std::_Exit(91);
    ::execl(UVMTRACE_PLAYER, UVMTRACE_PLAYER, options.library.c_str(), (base / "script").c_str(), nullptr);
    std::_Exit(92);
  }
  int status = 0;
  ::waitpid(child, &status, 0);

  Played played;
  played.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  played.standard_error = read(base / "err");
  played.log = logs / (options.pass + "." + std::to_string(child) + ".jsonl");
  for (const auto& entry : std::filesystem::directory_iterator(logs)) played.logs.push_back(entry.path());
  const std::string text = std::filesystem::is_regular_file(played.log) ? read(played.log) : std::string();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // cut off
    auto event = nlohmann::json::parse(text.substr(begin, end - begin), nullptr, false);
    if (event.is_discarded()) {
      played.every_line_is_whole = false;
    } else {
      played.events.push_back(std::move(event));
    }
    begin = end + 1;
  }
  std::filesystem::remove_all(base);
  return played;
}
