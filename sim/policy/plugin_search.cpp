// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "sim/common/error.h"
#include "sim/common/sha256.h"
#include "sim/policy/plugin.h"

namespace uvmsim::policy {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHashMark = "@sha256:";
constexpr std::size_t kHashDigits = 64;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::string look_up(const std::string& plugin) {
  if (plugin.find('/') != std::string::npos || is_file(plugin)) return plugin;
  const std::vector<std::string> folders = plugin_search_path();
  for (const std::string& folder : folders) {
    for (const std::string& name : {plugin, plugin + ".so"}) {
      if (is_file(fs::path(folder) / name)) return (fs::path(folder) / name).string();
    }
  }
  throw_input_error("plug-in {}: no such file; looked in the working folder and in {}; UVMSIM_PLUGIN_PATH adds folders",
                    plugin, fmt::join(folders, ", "));
}

}  // namespace

std::string PluginName::text() const { return sha256.empty() ? path : path + std::string(kHashMark) + sha256; }

PluginName plugin_name(const std::string& text) {
  const std::size_t mark = text.rfind(kHashMark);
  if (mark == std::string::npos) return {text, ""};
  PluginName name{text.substr(0, mark), text.substr(mark + kHashMark.size())};
  if (name.sha256.size() != kHashDigits || name.sha256.find_first_not_of("0123456789abcdef") != std::string::npos) {
    throw_input_error("plug-in {}: {} is no SHA-256; allowed: {} hexadecimal digits, as sha256sum prints them",
                      name.path, name.sha256, kHashDigits);
  }
  return name;
}

std::vector<std::string> plugin_search_path() {
  std::vector<std::string> folders;
  if (const char* variable = std::getenv("UVMSIM_PLUGIN_PATH")) {
    std::string_view rest = variable;
    while (!rest.empty()) {
      const std::string_view folder = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
      if (!folder.empty()) folders.emplace_back(folder);
    }
  }
  std::error_code failed;
  const fs::path command = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) folders.push_back((command.parent_path().parent_path() / "lib" / "uvmsim" / "plugins").string());
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    folders.push_back((fs::path(home) / ".local" / "lib" / "uvmsim" / "plugins").string());
  }
  return folders;
}

std::string find_plugin(const std::string& plugin) {
  const PluginName name = plugin_name(plugin);
  std::string file = look_up(name.path);
  if (name.sha256.empty()) return file;
  const std::string found = sha256_of_file(file);
  if (found == name.sha256) return file;
  throw_input_error(
      "plug-in {}: is another file than the one that was recorded, and is not loaded: its SHA-256 is {}, "
      "expected: {}",
      name.path, found, name.sha256);
}

}  // namespace uvmsim::policy
