// SPDX-License-Identifier: Apache-2.0
#include "sim/policy/plugin.h"

#include <dlfcn.h>
#include <elf.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>

#include "sim/common/error.h"
#include "sim/policy/guarded.h"

namespace uvmsim::policy {
namespace {

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

const PluginDescriptor* descriptor_of(const Library& library) {
  return static_cast<const PluginDescriptor*>(dlsym(library.get(), kPluginSymbol));
}

void check_versions(const std::string& path, const PluginDescriptor& descriptor) {
  if (descriptor.abi_version != kPluginAbiVersion) {
    throw_input_error("plug-in {}: built for plug-in ABI version {}, this uvmsim has version {}; rebuild the plug-in",
                      path, descriptor.abi_version, kPluginAbiVersion);
  }
  const std::string_view compiler_abi = descriptor.compiler_abi == nullptr ? "unknown" : descriptor.compiler_abi;
  if (compiler_abi != kCompilerAbi) {
    throw_input_error("plug-in {}: compiled for '{}', this uvmsim for '{}'; rebuild the plug-in", path, compiler_abi,
                      kCompilerAbi);
  }
}

bool forbidden = false;

// Checks the size of the file. The loader maps what the file's header promises, and a read past the end of a cut file
// would kill the program.
void check_whole(const std::string& path, const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  Elf64_Ehdr header{};
  stream.read(reinterpret_cast<char*>(&header), sizeof header);
  const std::uintmax_t bytes = std::filesystem::file_size(file);
  const std::uintmax_t promised = header.e_shoff + std::uintmax_t{header.e_shentsize} * header.e_shnum;
  if (stream && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
      promised > bytes) {
    throw_input_error("plug-in {}: is cut off: it has {} bytes of {}; build it again", path, bytes, promised);
  }
}

Library open_library(const std::string& path) {
  if (forbidden) throw_input_error("plug-in {}: not loaded, because of --no-plugins", path);
  // dlopen() looks for names without a slash in the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored)) {
    throw_input_error("plug-in {}: no such file; allowed: a shared library with a policy", path);
  }
  // RTLD_NOW: a missing function is reported here, not in the middle of a run. RTLD_LOCAL: plug-ins do not see each
  // other's symbols.
  check_whole(path, file);
  const std::string label = "plug-in " + path;
  const PluginCall load{label.c_str(), "dlopen"};
  const InPluginCall loading(load);
  Library library(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library == nullptr) {
    const std::string reason = dlerror();
    // A plug-in of another version often misses functions; its version makes the better message.
    if (const Library lazy(dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL)); lazy != nullptr) {
      if (const PluginDescriptor* descriptor = descriptor_of(lazy); descriptor != nullptr) {
        check_versions(path, *descriptor);
      }
    }
    throw_input_error("plug-in {}: cannot be loaded: {}", path, reason);
  }
  return library;
}

}  // namespace

void forbid_plugins() { forbidden = true; }

void load_plugin(Registry& registry, const std::string& path) {
  watch_plugin_calls();
  Library library = open_library(path);
  const PluginDescriptor* descriptor = descriptor_of(library);
  if (descriptor == nullptr) {
    throw_input_error("plug-in {}: has no symbol {}; a policy file ends with UVMSIM_POLICY(name, Class)", path,
                      kPluginSymbol);
  }
  check_versions(path, *descriptor);
  // From here on the plug-in's own code runs; its exceptions need the library to stay loaded.
  static_cast<void>(library.release());
  Registry staged(path);
  try {
    const std::string label = "plug-in " + path;
    const PluginCall info{label.c_str(), "info"};
    const InPluginCall adding(info);
    descriptor->add_to(staged);
  } catch (const InputError&) {
    throw;
  } catch (...) {
    throw_input_error("plug-in {}: its info() or parameters() throws", path);
  }
  for (const PolicyEntry* entry : staged.list()) registry.add(*entry);
}

}  // namespace uvmsim::policy
