// SPDX-License-Identifier: Apache-2.0
// Sources of eBPF policies, built with `uvmsim bpf build` and loaded.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "sim/policy/plugin.h"
#include "sim/policy/registry.h"
#include "tests/folder.h"

namespace uvmsim {

struct BpfBuildResult {
  bool built = false;
  std::string plugin, errors;
};

// Builds one source; `options` is passed to a shell.
inline BpfBuildResult build_bpf(const Folder& folder, const std::string& source, const std::string& options = "") {
  BpfBuildResult result;
  result.plugin = folder.path("plugin.so");
  const std::string line = std::string("'") + UVMSIM_COMMAND + "' bpf build '" + source + "' -o '" + result.plugin +
                           "' " + options + " >'" + folder.path(".out") + "' 2>'" + folder.path(".err") + "'";
  result.built = std::system(line.c_str()) == 0;
  result.errors = folder.read(".err");
  return result;
}

// Returns a policy with these programs and maps; `operations` fills in its struct.
inline std::string bpf_source(std::string_view programs, std::string_view operations) {
  return "#include <vmlinux.h>\n#include <bpf/bpf_helpers.h>\n#include <bpf/bpf_tracing.h>\n"
         "#include <bpf/bpf_core_read.h>\n#include \"uvm_types.h\"\n#include \"bpf_testmod.h\"\n" +
         std::string(programs) + "\nSEC(\".struct_ops\") struct uvm_gpu_ext operations = {" + std::string(operations) +
         "};\n";
}

// Returns the built-ins and this plug-in.
inline std::shared_ptr<policy::Registry> with_plugin(const std::string& plugin) {
  auto registry = std::make_shared<policy::Registry>(*policy::built_ins());
  policy::load_plugin(*registry, plugin);
  return registry;
}

// Returns one of our own policies. The loader identifies a library by its path, so each has another path.
inline std::shared_ptr<policy::Registry> shipped_bpf_policy(const std::string& name, const std::string& options = "") {
  static const Folder folder("bpf-shipped");
  static int number = 0;
  const std::string own = folder.path(std::to_string(++number));
  std::filesystem::create_directories(own);
  const std::string plugin = own + "/" + name + ".so";
  const std::string line = std::string("'") + UVMSIM_COMMAND + "' bpf build '" + UVMSIM_SOURCE_DIR "/bpf/policies/" +
                           name + ".bpf.c' " + options + " -o '" + plugin + "' >/dev/null";
  if (std::system(line.c_str()) != 0) throw std::runtime_error("cannot build " + name);
  return with_plugin(plugin);
}

}  // namespace uvmsim
