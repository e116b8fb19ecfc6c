// SPDX-License-Identifier: Apache-2.0
#include "tracer/cli/find_parts.h"

#include <cstdlib>
#include <filesystem>

namespace uvmtrace {

namespace {

namespace fs = std::filesystem;

// Returns the first path that exists: a name in one of the folders.
std::string find(const std::vector<fs::path>& folders, const std::vector<fs::path>& names) {
  std::error_code ignored;
  for (const fs::path& folder : folders) {
    for (const fs::path& name : names) {
      if (fs::exists(folder / name, ignored)) return fs::weakly_canonical(folder / name, ignored).string();
    }
  }
  return {};
}

}  // namespace

std::string Parts::searched_text() const {
  std::string out;
  for (const std::string& folder : searched) out += (out.empty() ? "" : ", ") + folder;
  return out;
}

Parts find_parts() {
  std::vector<fs::path> folders;
  std::error_code ignored;
  if (const char* given = std::getenv("UVMTRACE_LIBRARY_DIR"); given != nullptr && *given != '\0') {
    folders.emplace_back(fs::absolute(given, ignored));
  }
  const fs::path command = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path here = command.parent_path();
  if (!here.empty()) {
    // In this order: beside the command; an installation (bin/ beside lib/ or lib/<triplet>/); a build tree (bin/
    // beside tracer/).
    for (const char* relative : {".", "../lib/uvmtrace", "../lib64/uvmtrace", "../lib/x86_64-linux-gnu/uvmtrace",
                                 "../lib/aarch64-linux-gnu/uvmtrace", "../tracer", "tracer"}) {
      folders.push_back((here / relative).lexically_normal());
    }
  }
  Parts parts;
  for (const fs::path& folder : folders) parts.searched.push_back(folder.string());
  parts.timing = find(folders, {"libuvmtrace_timing.so", "timing/libuvmtrace_timing.so"});
  parts.faults = find(folders, {"libuvmtrace_faults.so", "faults/libuvmtrace_faults.so"});
  parts.memory = find(folders, {"libuvmtrace_memory.so", "memory/libuvmtrace_memory.so"});
  parts.access = find(folders, {"libuvmtrace_access.so", "access/libuvmtrace_access.so"});
  // Python files are not built: they are found from a build tree within the source tree.
  folders.push_back((here / "../share/uvmtrace").lexically_normal());
  fs::path above = here;
  for (int i = 0; i < 5 && above.has_relative_path(); ++i) {
    folders.push_back(above / "tracer");
    above = above.parent_path();
  }
  parts.torch_site = find(folders, {"torch/site"});
  return parts;
}

}  // namespace uvmtrace
