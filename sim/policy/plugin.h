// SPDX-License-Identifier: Apache-2.0
// Loads policies from shared libraries: `uvmsim --plugin ./mine.so`, or `--plugin mine` from the search path.
#pragma once

#include <string>
#include <vector>

#include "sim/policy/registry.h"

namespace uvmsim::policy {

// The folders in which a plug-in is looked up by name: those of the environment variable UVMSIM_PLUGIN_PATH (separated
// by ':'), then lib/uvmsim/plugins beside the command's folder, then ~/.local/lib/uvmsim/plugins.
std::vector<std::string> plugin_search_path();

// A plug-in as options and files name it: "mine.so", or "mine.so@sha256:<64 hexadecimal digits>" where the name holds
// what the file was when it was written down.
struct PluginName {
  std::string path;
  std::string sha256;  // empty: any file will do

  std::string text() const;
};

// Throws InputError when what follows "@sha256:" is none.
PluginName plugin_name(const std::string& text);

// The file that `plugin` means: as it is when it holds a '/' or is a file in the working folder, else "mine" or
// "mine.so" in the first folder of the search path that has it. Throws InputError naming the folders, or both hashes
// when the file is not the one that the name was written for.
std::string find_plugin(const std::string& plugin);

// From here on load_plugin() loads nothing: it throws.
void forbid_plugins();

// Adds the policy of a plug-in to the registry. The library stays loaded until the program ends.
// Throws InputError, and adds nothing, when the file cannot be loaded, is no plug-in, was built for another ABI version
// or standard library (the message names both), or brings a policy name that its slot already has.
void load_plugin(Registry& registry, const std::string& path);

}  // namespace uvmsim::policy
