// SPDX-License-Identifier: Apache-2.0
#include "tracer/faults/gpu_names.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>

namespace uvmtrace::faults {

std::string gpu_names() {
  constexpr std::string_view kKey = "Model:";
  std::set<std::string> models;
  std::error_code error;
  for (const auto& gpu : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", error)) {
    std::ifstream file(gpu.path() / "information");
    for (std::string line; std::getline(file, line);) {
      if (line.compare(0, kKey.size(), kKey) != 0) continue;
      const std::size_t begin = line.find_first_not_of(" \t", kKey.size());
      if (begin != std::string::npos) models.insert(line.substr(begin));
    }
  }
  std::string out;
  for (const std::string& model : models) out += (out.empty() ? "" : ", ") + model;
  return out;
}

}  // namespace uvmtrace::faults
