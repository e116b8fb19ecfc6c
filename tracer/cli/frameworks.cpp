// SPDX-License-Identifier: Apache-2.0
#include "tracer/cli/frameworks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>

namespace uvmtrace {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // of a file
constexpr std::size_t kMostFiles = 64;

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Returns the first name after `import` or `from`, with its dots.
std::string imported_by(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  for (const std::string_view word : {"import ", "from "}) {
    if (line.starts_with(word)) {
      line.remove_prefix(word.size());
      line.remove_prefix(std::min(line.find_first_not_of(" \t."), line.size()));
      const auto end = std::find_if(line.begin(), line.end(), [](char c) { return !is_word_character(c) && c != '.'; });
      return {line.begin(), end};
    }
  }
  return {};
}

class Reader {
 public:
  Frameworks found;

  void read(const fs::path& file) {
    std::error_code ignored;
    const std::string name = fs::weakly_canonical(file, ignored).string();
    if (!fs::is_regular_file(file, ignored) || done_.size() >= kMostFiles || !done_.insert(name).second) return;
    std::ifstream in(file, std::ios::binary);
    std::size_t bytes = 0;
    for (std::string line; bytes < kMostBytes && std::getline(in, line); bytes += line.size() + 1) {
      line.resize(std::min(line.find('#'), line.size()));
      found.torch_compile = found.torch_compile || line.find("torch.compile(") != std::string::npos ||
                            line.find("@torch.compile") != std::string::npos;
      if (const std::string module = imported_by(line); !module.empty()) take_import(file.parent_path(), module);
    }
  }

  // Reads a module that `python -m` runs.
  void read_module(const fs::path& folder, std::string name) {
    std::replace(name.begin(), name.end(), '.', '/');
    read(folder / (name + ".py"));
    read(folder / name / "__init__.py");
    read(folder / name / "__main__.py");
  }

 private:
  void take_import(const fs::path& folder, const std::string& module) {
    const std::string first = module.substr(0, module.find('.'));
    found.jax = found.jax || first == "jax" || first == "flax";
    found.triton = found.triton || first == "triton";
    // Modules of a package may import each other by the name of the package.
    read_module(folder, module);
    if (folder.filename() == first) read_module(folder.parent_path(), module);
  }

  std::set<std::string> done_;
};

bool is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

}  // namespace

std::string Frameworks::names() const {
  std::vector<std::string_view> out;
  if (torch_compile) out.emplace_back("torch.compile");
  if (triton) out.emplace_back("Triton");
  if (jax) out.emplace_back("JAX");
  return fmt::format("{}", fmt::join(out, ", "));
}

Frameworks frameworks_of(const std::vector<std::string>& program) {
  Reader reader;
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (program[i].ends_with(".py")) {
      reader.read(program[i]);
    } else if (program[i] == "-m" && i + 1 < program.size()) {
      reader.read_module(".", program[i + 1]);
    }
  }
  return reader.found;
}

std::vector<Setting> repeatable_settings(const Frameworks& frameworks, const std::string& cache_folder) {
  std::vector<Setting> out;
  const auto add = [&out](const char* name, const std::string& value, const std::string& shown) {
    if (!is_set(name)) out.push_back({name, value, shown});
  };
  const auto plain = [&add](const char* name, const char* value) { add(name, value, value); };
  if (frameworks.any()) {
    plain("PYTHONHASHSEED", "0");  // fixes the order of sets, which affects compilers of Python code
  }
  if (frameworks.torch_compile) {
    plain("TORCHINDUCTOR_FX_GRAPH_CACHE", "1");
    plain("TORCHINDUCTOR_AUTOGRAD_CACHE", "1");
  }
  if (frameworks.torch_compile || frameworks.triton) plain("TRITON_CACHE_AUTOTUNING", "1");
  if (frameworks.jax) {
    // JAX then makes one allocation of the driver per buffer instead of an arena, so that the trace shows which memory
    // is in use.
    plain("XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_async");
    plain("XLA_PYTHON_CLIENT_PREALLOCATE", "false");
  }
  if (frameworks.jax && !cache_folder.empty()) {
    if (!is_set("JAX_COMPILATION_CACHE_DIR")) add("JAX_COMPILATION_CACHE_DIR", cache_folder, "(of the recording)");
    plain("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0");
    plain("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1");
  } else if (frameworks.jax) {
    const char* const present = std::getenv("XLA_FLAGS");
    const std::string flags = present == nullptr ? "" : present;
    if (flags.find("xla_gpu_autotune_level") == std::string::npos) {
      const std::string value = flags + (flags.empty() ? "" : " ") + "--xla_gpu_autotune_level=0";
      out.push_back({"XLA_FLAGS", value, value});
    }
  }
  return out;
}

}  // namespace uvmtrace
