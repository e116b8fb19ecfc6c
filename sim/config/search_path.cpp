// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>

#include "sim/config/load_system.h"

namespace uvmsim::config {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

void add_folder(std::vector<std::string>& folders, const fs::path& folder) {
  const std::string text = folder.lexically_normal().string();
  if (is_folder(folder) && std::find(folders.begin(), folders.end(), text) == folders.end()) folders.push_back(text);
}

// Adds a folder of system files, or the one that it contains.
void add_user_folder(std::vector<std::string>& folders, const fs::path& entry) {
  for (const fs::path& folder : {entry / "configs" / "systems", entry / "systems", entry}) {
    if (is_folder(folder)) {
      add_folder(folders, folder);
      return;
    }
  }
}

// The folder of the file that contains this code, if it is a module such as Python's rather than a command.
fs::path module_folder() {
  Dl_info found;
  if (::dladdr(reinterpret_cast<const void*>(&is_folder), &found) == 0 || found.dli_fname == nullptr) return {};
  const fs::path file(found.dli_fname);
  return file.is_absolute() ? file.parent_path() : fs::path();
}

}  // namespace

std::vector<std::string> default_search_path() {
  std::vector<std::string> folders;
  if (const char* variable = std::getenv("UVMSIM_CONFIG_PATH")) {
    std::string_view rest = variable;
    while (!rest.empty()) {
      const std::string_view entry = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(rest.size(), entry.size() + 1));
      if (!entry.empty()) add_user_folder(folders, entry);
    }
  }
  if (const fs::path folder = module_folder(); !folder.empty()) {
    add_folder(folders, folder / "share" / "uvmsim" / "configs" / "systems");  // in a Python package
  }
  std::error_code failed;
  const fs::path command = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) add_folder(folders, command.parent_path() / ".." / "share" / "uvmsim" / "configs" / "systems");
  add_folder(folders, fs::path(UVMSIM_SOURCE_CONFIGS) / "systems");
  add_folder(folders, fs::path(UVMSIM_INSTALLED_CONFIGS) / "systems");
  return folders;
}

std::vector<SystemFile> list_systems(const std::vector<std::string>& search_path) {
  std::map<std::string, std::string> found;
  for (const std::string& folder : search_path) {
    std::error_code failed;
    for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
      const fs::path& path = entry->path();
      if (path.extension() == ".json" && !is_folder(path)) {
        found.emplace(path.stem().string(), path.string());  // an earlier folder hides a later one
      }
    }
  }
  std::vector<SystemFile> systems;
  for (const auto& [name, path] : found) systems.push_back({name, path});
  return systems;
}

}  // namespace uvmsim::config
