#include "sim/layout/layout_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/common/error.h"
#include "sim/config/quantity.h"
#include "sim/policy/name_suggestion.h"

namespace uvmsim::layout {

namespace {

std::vector<LayoutInfo> all_layouts() {
  return {
      {"none",
       "every object and every tensor is one cudaMallocManaged of its own, and one cudaFree",
       "tensors and objects, as many bytes as the program asked for",
       "PyTorch with PYTORCH_NO_CUDA_MEMORY_CACHING=1",
       {}},
      {"pytorch_caching",
       "PyTorch's caching allocator places tensors in segments of cudaMallocManaged",
       "segments, whether tensors lie in them or not, and the program's other objects",
       "c10/cuda/CUDACachingAllocator.cpp, pytorch 001074d2 (2025)",
       {}},
      {"recorded",
       "objects and tensors lie where they were recorded",
       "objects as recorded: segments of an allocator count whole",
       "the trace",
       {}},
  };
}

std::string allowed_names() { return fmt::format("{}", fmt::join(layout_names(), ", ")); }

// Bytes with a unit as digits; other values as they are, for the table to judge.
policy::GivenParameters without_units(const LayoutChoice& choice) {
  policy::GivenParameters given = choice.parameters;
  for (auto& [key, value] : given) {
    const bool digits = value.find_first_not_of("0123456789") == std::string::npos;
    if (digits || !key.ends_with("_bytes")) continue;
    const auto parsed = config::parse_quantity(value, config::Unit::kBytes);
    if (parsed.value) value = fmt::format("{}", *parsed.value);
  }
  return given;
}

std::string text_of(const std::string& name, const policy::GivenParameters& parameters) {
  std::string text = name;
  for (const auto& [key, value] : parameters) {
    text += fmt::format("{}{}={}", text.size() == name.size() ? ':' : ',', key, value);
  }
  return text;
}

}  // namespace

const std::vector<LayoutInfo>& layouts() {
  static const std::vector<LayoutInfo> all = all_layouts();
  return all;
}

const std::vector<std::string>& layout_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const LayoutInfo& info : layouts()) out.push_back(info.name);
    return out;
  }();
  return names;
}

const LayoutInfo& find_layout(const std::string& name) {
  for (const LayoutInfo& info : layouts()) {
    if (info.name == name) return info;
  }
  throw_input_error("unknown layout '{}'{}; allowed: {}", name, policy::suggestion(name, layout_names()),
                    allowed_names());
}

LayoutChoice parse_layout(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  LayoutChoice choice(text.substr(0, colon));
  find_layout(choice.name);
  for (std::size_t begin = colon + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    const std::size_t equals = item.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw_input_error("'{}' is no layout; allowed: NAME or NAME:key=value,key=value", text);
    }
    choice.parameters.emplace_back(item.substr(0, equals), item.substr(equals + 1));
    begin = end + 1;
  }
  resolve(choice);
  return choice;
}

policy::Parameters resolve(const LayoutChoice& choice) {
  const LayoutInfo& info = find_layout(choice.name);
  return {"layout " + info.name, info.parameters, without_units(choice)};
}

std::string given_text(const LayoutChoice& choice) { return text_of(choice.name, choice.parameters); }

std::string resolved_text(const LayoutChoice& choice) { return text_of(choice.name, resolve(choice).resolved()); }

}  // namespace uvmsim::layout
