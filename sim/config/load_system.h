// SPDX-License-Identifier: Apache-2.0
// Systems by name or file. The file format is described in configs/README.md and, for editors, by
// configs/system.schema.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/config/system.h"

namespace uvmsim::config {

// Folders that hold system files, first wins:
// 1. what $UVMSIM_CONFIG_PATH lists (separated by ':'): each entry is such a folder, or a folder with configs/systems
//    or systems in it;
// 2. ../share/uvmsim/configs/systems beside the running command;
// 3. configs/systems of the source tree that the library was built from;
// 4. the folder that the library was configured to be installed into.
std::vector<std::string> default_search_path();

// "h200-sxm-pcie5" is looked up as h200-sxm-pcie5.json in the search path; what holds a '/' or ends in ".json" is a
// file. "h200-sxm-pcie5+gmem" is the same machine with another driver: configs/drivers/gmem.json (drivers beside the
// folders of the search path), or a file, over the system; several may follow one another. Every parameter is checked
// and its source recorded in `sources`. Throws InputError, one line with the file, the JSON pointer of the key and what
// is allowed.
SystemConfig load_system(const std::string& name_or_path,
                         const std::vector<std::string>& search_path = default_search_path());

// The first GPU of this model (letter case apart) in `likely`, else in the systems of the search path, by name. Systems
// that cannot be loaded are left out. Absent when there is none.
std::optional<GpuConfig> find_gpu(const std::string& model, const SystemConfig& likely,
                                  const std::vector<std::string>& search_path);

// One "key=value", as "costs.batch_ns=7000" or "host_links.0.host_to_device.bytes_per_us=26 GB/s"; "costs.*=x1.25"
// multiplies all that match. The loader's checks hold; the assignment becomes the source. Throws InputError.
void apply_override(SystemConfig& config, const std::string& assignment);
// All of them in order, then the checks between parameters, which single ones may break on the way.
void apply_overrides(SystemConfig& config, const std::vector<std::string>& assignments);

// The checks between parameters: as many links as GPUs, ways that divide entries, reserved below total memory, an SSD
// with bandwidth. `where` starts the message. Throws InputError.
void check_system(const SystemConfig& config, const std::string& where);

struct SystemFile {
  std::string name;
  std::string path;
};
// Every system that a name finds, by name.
std::vector<SystemFile> list_systems(const std::vector<std::string>& search_path);

}  // namespace uvmsim::config
