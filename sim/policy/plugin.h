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

// The name of a plug-in in options and files: "mine.so", or "mine.so@sha256:<64 hexadecimal digits>" with the hash of
// the file at the time of writing.
struct PluginName {
  std::string path;
  std::string sha256;  // empty: any file is accepted

  std::string text() const;
};

// Throws InputError when the text after "@sha256:" is not a hash.
PluginName plugin_name(const std::string& text);

// Finds the file of a plug-in: `plugin` itself if it holds a '/' or is a file in the working folder, else "mine" or
// "mine.so" in the first folder of the search path that has it. Throws InputError naming the folders, or both hashes
// when the file's hash differs from the one in the name.
std::string find_plugin(const std::string& plugin);

// Makes every later load_plugin() throw.
void forbid_plugins();

// Adds the policy of a plug-in to the registry. The library stays loaded until the program ends. Throws InputError, and
// adds nothing, when the file cannot be loaded, is not a plug-in, was built for another ABI version or standard library
// (the message names both), or declares a policy name that its slot already has.
void load_plugin(Registry& registry, const std::string& path);

}  // namespace uvmsim::policy
