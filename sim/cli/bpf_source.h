// SPDX-License-Identifier: Apache-2.0
// The declarations in the source of an eBPF policy, read from its preprocessed text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace uvmsim::cli {

struct BpfMapDeclaration {
  std::string name;
  enum class Kind : std::uint8_t { kTyped, kSized, kRing } kind = Kind::kTyped;
};

struct BpfSource {
  std::string operations;  // name of the struct of operations; empty: none
  unsigned interface_version = 1;
  std::vector<BpfMapDeclaration> maps;
  std::vector<std::pair<std::string, std::string>> probes;  // member of uvmsim_bpf_probes, and the function
  bool has_driver_types = false;
};

// Throws InputError, one line with file and line, for constructs that the simulator lacks: other kinds of programs,
// probes of functions that it does not call, types of maps.
BpfSource read_bpf_source(const std::string& path, std::string_view preprocessed);

}  // namespace uvmsim::cli
