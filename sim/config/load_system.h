// SPDX-License-Identifier: Apache-2.0
// Systems by name or file. The file format is described in configs/README.md and, for editors, by
// configs/system.schema.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/system.h"

namespace uvmsim::config {

// Returns the folders that hold system files; earlier ones take precedence:
// 1. those of $UVMSIM_CONFIG_PATH (separated by ':'): each entry is such a folder, or contains configs/systems or
//    systems;
// 2. ../share/uvmsim/configs/systems beside the running command;
// 3. configs/systems of the source tree that the library was built from;
// 4. the folder that the library was configured to be installed into.
std::vector<std::string> default_search_path();

// Loads a system by name or file. "h200-sxm-pcie5" is looked up as h200-sxm-pcie5.json in the search path; a text that
// contains a '/' or ends in ".json" is a file. "h200-sxm-pcie5+gmem" is the same machine with another driver:
// configs/drivers/gmem.json (in the drivers folders beside those of the search path), or a file, is applied to the
// system; several drivers may follow one another. Every parameter is checked and its source recorded in `sources`.
// Throws InputError, one line with the file, the JSON pointer of the key and what is allowed.
SystemConfig load_system(const std::string& name_or_path,
                         const std::vector<std::string>& search_path = default_search_path());

// Returns the first GPU of this model (in any letter case) in `likely`, else in the systems of the search path, by
// name. Ignores systems that cannot be loaded. Returns nothing if there is none.
std::optional<GpuConfig> find_gpu(const std::string& model, const SystemConfig& likely,
                                  const std::vector<std::string>& search_path);

// Applies one "key=value", such as "costs.batch_ns=7000" or "host_links.0.host_to_device.bytes_per_us=26 GB/s";
// "costs.*=x1.25" multiplies all that match. Checks it as the loader does; the assignment becomes the source. Throws
// InputError.
void apply_override(SystemConfig& config, const std::string& assignment);
// Applies all assignments in order, then the checks between parameters, which may fail in between.
void apply_overrides(SystemConfig& config, const std::vector<std::string>& assignments);

// Checks parameters against each other: one link per GPU, numbers of ways that divide numbers of entries, reserved
// below total memory, an SSD with bandwidth. `where` starts the message. Throws InputError.
void check_system(const SystemConfig& config, const std::string& where);

struct SystemFile {
  std::string name;
  std::string path;
};
// Returns all systems that a name can find, sorted by name.
std::vector<SystemFile> list_systems(const std::vector<std::string>& search_path);

}  // namespace uvmsim::config
