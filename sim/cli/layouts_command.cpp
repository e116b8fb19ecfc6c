// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/cli/parameter_text.h"
#include "sim/formats/wrapped.h"
#include "sim/layout/layout_choice.h"

namespace uvmsim::cli {
namespace {

using layout::LayoutInfo;

constexpr const char* kLayoutsUsage = R"(uvmsim layouts [NAME] [options]

Without NAME: every layout and what it does. With NAME: also what its footprint counts, its source, and its parameters,
each with type, default and allowed values.

A layout says which addresses a trace's tensors and allocations get: `--layout NAME[:key=value,...]` of a run. Values of
parameters that count bytes may have a unit. `uvmsim trace info` prints a trace's footprint under every layout.

Examples:
  uvmsim layouts
  uvmsim layouts pytorch_caching
  uvmsim run gpt2.uvmt --system h200-sxm-pcie5 --layout pytorch_caching:max_split_size_bytes=128MiB

)";

void print_overview() {
  std::vector<std::vector<std::string>> rows{{"NAME", "DESCRIPTION"}};
  for (const LayoutInfo& info : layout::layouts()) rows.push_back({info.name, info.description});
  print_table(rows, "");
  fmt::print("\nuvmsim layouts NAME shows the parameters of a layout and the source that it follows.\n");
}

void print_layout(const LayoutInfo& info) {
  fmt::print("{}", wrapped_text(fmt::format("{}: {}\n", info.name, info.description)));
  print_table({{"footprint", info.footprint}, {"source", info.source}}, "  ");
  print_parameters(info.parameters);
}

int print_layouts(const Values& values) {
  const Arguments& names = values.arguments();
  if (values.given("json")) {
    nlohmann::ordered_json array = nlohmann::ordered_json::array();
    for (const LayoutInfo& info : names.empty() ? layout::layouts() : std::vector{layout::find_layout(names.front())}) {
      array.push_back({{"name", info.name},
                       {"description", info.description},
                       {"footprint", info.footprint},
                       {"source", info.source},
                       {"parameters", parameters_json(info.parameters)}});
    }
    print_json("layouts", std::move(array));
  } else if (names.empty()) {
    print_overview();
  } else {
    print_layout(layout::find_layout(names.front()));
  }
  return 0;
}

}  // namespace

CommandLine layouts_command() {
  return {.usage = kLayoutsUsage,
          .options = {{"json", "", "print JSON"}, kHelp},
          .most_arguments = 1,
          .run = print_layouts,
          .width = 80};
}

}  // namespace uvmsim::cli
