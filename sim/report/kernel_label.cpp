#include "sim/report/kernel_label.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace uvmsim::report {
namespace {

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? std::string(text.get()) : name;
}

}  // namespace

std::string kernel_label(std::string_view name) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  const std::string full = demangled(std::string(name));
  std::string label;
  unsigned depth = 0;  // within < >
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
