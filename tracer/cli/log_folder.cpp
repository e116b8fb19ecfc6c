// SPDX-License-Identifier: Apache-2.0
#include "tracer/cli/log_folder.h"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "sim/common/error.h"

namespace uvmtrace {

namespace {

namespace fs = std::filesystem;
using uvmsim::throw_input_error;

std::vector<fs::path> logs_in(const std::string& folder, const std::string& pass) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(pass + ".") && name.ends_with(".jsonl")) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::uint64_t count_launches(const fs::path& path) {
  constexpr std::string_view kLaunch = R"({"t":"launch",)";
  std::ifstream file(path, std::ios::binary);
  std::uint64_t count = 0;
  for (std::string line; std::getline(file, line);) count += std::string_view(line).starts_with(kLaunch) ? 1 : 0;
  return count;
}

}  // namespace

LogFolder::LogFolder(const std::string& keep, const std::string& output) : keep_(!keep.empty()) {
  std::error_code error;
  if (keep_) {
    path_ = fs::absolute(keep, error).string();
    fs::create_directories(path_, error);
    if (error) throw_input_error("cannot make the folder {}: {}", keep, error.message());
    if (!fs::is_empty(path_, error)) {
      throw_input_error("--keep-logs: {}: {}", keep,
                        error ? error.message() : "is not empty; name a new folder for every recording");
    }
    return;
  }
  const fs::path target = fs::absolute(output, error);
  path_ = (target.parent_path() / ("." + target.filename().string() + ".logs-XXXXXX")).string();
  if (::mkdtemp(path_.data()) == nullptr) {
    throw_input_error("cannot make a folder for logs beside {}: {}", output, std::strerror(errno));
  }
}

LogFolder::~LogFolder() {
  if (!keep_) {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
}

LogFolder::Choice LogFolder::choose(const std::string& pass) const {
  Choice choice;
  std::uint64_t most = 0;
  for (const fs::path& log : logs_in(path_, pass)) {
    const std::uint64_t launches = count_launches(log);
    if (choice.log.empty() || launches > most) {
      if (most != 0) choice.others.push_back(choice.log);
      choice.log = log.string();
      most = launches;
    } else if (launches != 0) {
      choice.others.push_back(log.string());
    }
  }
  return choice;
}

std::vector<std::string> LogFolder::all(const std::string& pass) const {
  std::vector<std::string> out;
  for (const fs::path& log : logs_in(path_, pass)) out.push_back(log.string());
  return out;
}

std::vector<std::string> LogFolder::processes(const std::string& pass) const {
  std::vector<std::string> out;
  for (const fs::path& log : logs_in(path_, pass)) {
    if (count_launches(log) != 0) out.push_back(log.string());
  }
  return out;
}

}  // namespace uvmtrace
