#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "sim/common/error.h"
#include "sim/policy/plugin.h"

namespace uvmsim::policy {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

}  // namespace

std::vector<std::string> plugin_search_path() {
  std::vector<std::string> folders;
  if (const char* variable = std::getenv("UVMSIM_PLUGIN_PATH")) {
    std::string_view rest = variable;
    while (!rest.empty()) {
      const std::string_view folder = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
      if (!folder.empty()) {
        folders.emplace_back(folder);
      }
    }
  }
  std::error_code failed;
  const fs::path command = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    folders.push_back((command.parent_path().parent_path() / "lib" / "uvmsim" / "plugins").string());
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    folders.push_back((fs::path(home) / ".local" / "lib" / "uvmsim" / "plugins").string());
  }
  return folders;
}

std::string find_plugin(const std::string& plugin) {
  if (plugin.find('/') != std::string::npos || is_file(plugin)) {
    return plugin;
  }
  const std::vector<std::string> folders = plugin_search_path();
  for (const std::string& folder : folders) {
    for (const std::string& name : {plugin, plugin + ".so"}) {
      if (is_file(fs::path(folder) / name)) {
        return (fs::path(folder) / name).string();
      }
    }
  }
  throw_input_error("plug-in {}: no such file; looked in the working folder and in {}; UVMSIM_PLUGIN_PATH adds folders",
                    plugin, fmt::join(folders, ", "));
}

}  // namespace uvmsim::policy
