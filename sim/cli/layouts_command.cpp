// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/cli/options.h"
#include "sim/cli/parameter_text.h"
#include "sim/formats/wrapped.h"
#include "sim/layout/layout_choice.h"

namespace uvmsim::cli {
namespace {

using layout::LayoutInfo;
namespace options = boost::program_options;

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

void print_json(const std::vector<LayoutInfo>& infos) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const LayoutInfo& info : infos) {
    array.push_back({{"name", info.name},
                     {"description", info.description},
                     {"footprint", info.footprint},
                     {"source", info.source},
                     {"parameters", parameters_json(info.parameters)}});
  }
  const nlohmann::ordered_json document{{"schema_version", 1}, {"layouts", std::move(array)}};
  fmt::print("{}\n", document.dump(2));
}

}  // namespace

int layouts_command(const std::vector<std::string>& arguments) {
  options::options_description visible("Options");
  visible.add_options()("json", options::bool_switch(), "print JSON")("help,h", options::bool_switch(),
                                                                      "print this text");
  const options::variables_map values = parse_options("uvmsim layouts", arguments, visible, 1);
  if (values["help"].as<bool>()) {
    std::ostringstream text;
    text << visible;
    fmt::print("{}\n{}", kLayoutsUsage, text.str());
    return 0;
  }
  const std::vector<std::string> names = positional_arguments(values);
  if (values["json"].as<bool>()) {
    print_json(names.empty() ? layout::layouts() : std::vector{layout::find_layout(names.front())});
  } else if (names.empty()) {
    print_overview();
  } else {
    print_layout(layout::find_layout(names.front()));
  }
  return 0;
}

}  // namespace uvmsim::cli
