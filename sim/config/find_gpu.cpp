// SPDX-License-Identifier: Apache-2.0
#include "sim/config/find_gpu.h"

#include <algorithm>
#include <cctype>

#include "sim/common/error.h"
#include "sim/config/load_system.h"

namespace uvmsim::config {
namespace {

bool same_text(const std::string& a, const std::string& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::optional<GpuConfig> find_in(const SystemConfig& system, const std::string& model) {
  for (const GpuConfig& gpu : system.gpus) {
    if (same_text(gpu.model, model)) return gpu;
  }
  return std::nullopt;
}

}  // namespace

std::optional<GpuConfig> find_gpu(const std::string& model, const SystemConfig& likely,
                                  const std::vector<std::string>& search_path) {
  if (model.empty()) return std::nullopt;
  if (const auto gpu = find_in(likely, model)) return gpu;
  for (const SystemFile& file : list_systems(search_path)) {
    try {
      if (const auto gpu = find_in(load_system(file.path, search_path), model)) return gpu;
    } catch (const InputError&) {  // a broken file is no reason to refuse another system's run
    }
  }
  return std::nullopt;
}

}  // namespace uvmsim::config
