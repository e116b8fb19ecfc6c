// SPDX-License-Identifier: Apache-2.0
// The choice of a layout: its name and parameters, the list of layouts, and its textual form.
#pragma once

#include <string>
#include <vector>

#include "sim/policy/parameters.h"

namespace uvmsim::layout {

// A plain name is a choice of the layout with its defaults.
struct LayoutChoice {
  std::string name = "recorded";
  policy::GivenParameters parameters;  // as given: key, value

  LayoutChoice() = default;
  LayoutChoice(const char* layout) : name(layout) {}
  LayoutChoice(std::string layout, policy::GivenParameters given = {})
      : name(std::move(layout)), parameters(std::move(given)) {}
  bool operator==(const LayoutChoice&) const = default;
};

inline constexpr const char* kPreallocating = "preallocating";

// The description of a layout, for help, `uvmsim layouts` and errors.
struct LayoutInfo {
  std::string name;
  std::string description;  // one line
  std::string footprint;    // the memory that its footprint counts, one line
  std::string source;       // the source that it follows
  policy::ParameterTable parameters;
};

// All layouts, ordered by name.
const std::vector<LayoutInfo>& layouts();
const std::vector<std::string>& layout_names();
// Throws InputError "unknown layout ..." with the nearest name and all names.
const LayoutInfo& find_layout(const std::string& name);

// Parses "none", "pytorch_caching:max_split_size_bytes=512MiB,garbage_collection_threshold=0.8". Throws InputError for
// another form, an unknown name, and parameters that `resolve` refuses.
LayoutChoice parse_layout(const std::string& text);

// Returns the choice for a GPU with `memory_bytes` of memory: if the layout takes a fraction of it, this becomes
// `arena_bytes`, in whole chunks of 2 MiB. Throws InputError as `resolve`, and if the result is less than one chunk.
LayoutChoice on_gpu(const LayoutChoice& choice, std::uint64_t memory_bytes);

// Every parameter with its value in force, in the order of the table: together with the name they determine the layout.
// Values of parameters that count bytes may have a unit. Throws InputError naming layout and parameter: unknown, given
// twice, of another type, out of range.
policy::Parameters resolve(const LayoutChoice& choice);

// Format "name" or "name:key=value,...": given_text() with the parameters as given, for people and for parse_layout();
// resolved_text() with every parameter in force, so that equal texts mean equal layouts.
std::string given_text(const LayoutChoice& choice);
std::string resolved_text(const LayoutChoice& choice);

}  // namespace uvmsim::layout
