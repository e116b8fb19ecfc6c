// SPDX-License-Identifier: Apache-2.0
#include "sim/report/kernel_label.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace uvmsim::report {
namespace {

// "S_", "S12_" refer to an earlier part of the name. Every two of them may double the output; the kernels of PyTorch,
// cuBLAS and cuDNN in workloads/ have up to 13.
constexpr std::size_t kMostReferences = 32;

std::size_t references(std::string_view name) {
  std::size_t count = 0;
  for (std::size_t at = name.find('S'); at != std::string_view::npos; at = name.find('S', at + 1)) {
    const std::size_t end = name.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", at + 1);
    count += end != std::string_view::npos && name[end] == '_';
  }
  return count;
}

}  // namespace

std::string demangled_name(std::string_view name) {
  const std::string whole(name);
  if (!name.starts_with("_Z") || references(name) > kMostReferences) return whole;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(whole.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? std::string(text.get()) : whole;
}

std::string kernel_label(std::string_view name) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  const std::string full = demangled_name(name);
  std::string label;
  unsigned depth = 0;  // of nested < >
  for (std::size_t at = 0; at < full.size(); ++at) {
    const std::string_view rest = std::string_view(full).substr(at);
    if (depth == 0 && rest.starts_with(kUnnamed)) {
      at += kUnnamed.size() - 1;
      continue;
    }
    const char c = full[at];
    if (c == '<' && !label.empty()) {
      ++depth;
    } else if (c == '>' && depth != 0) {
      --depth;
    } else if (depth == 0) {
      if (c == '(') break;
      label += c;
    }
  }
  if (label.starts_with("void ")) label.erase(0, 5);
  while (label.ends_with(' ')) label.pop_back();
  return label.empty() || depth != 0 ? full : label;
}

}  // namespace uvmsim::report
