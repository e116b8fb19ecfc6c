// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/cli/parameter_text.h"
#include "sim/common/error.h"
#include "sim/config/calibration.h"
#include "sim/config/load_system.h"
#include "sim/config/system_text.h"
#include "sim/formats/wrapped.h"

namespace uvmsim::cli {
namespace {

constexpr const char* kSystemsUsage = R"(usage: uvmsim systems [NAME|FILE] [options]

Without NAME: every system that can be named, with one line about each.
With NAME or FILE: every parameter of that system with value, unit, source and meaning.
Both say of the driver's costs whether they were measured on such a machine, fitted to what others published of one, or
carried over from another: `uvmsim run --uncertainty` varies them accordingly.

Systems are JSON files, looked for in the folders that UVMSIM_CONFIG_PATH lists, then among those that come with
uvmsim. A name with a '/' or that ends in .json is a file. configs/README.md describes the format.

Examples:
  uvmsim systems
  uvmsim systems h200-sxm-pcie5
  uvmsim systems a100-pcie-80g --set "costs.batch_ns=7 us" --json > my-system.json

)";

struct Listed {
  std::string name, path, description, problem;  // one of the last two is empty
  config::Calibration calibration;
};

std::vector<Listed> list_all(const std::vector<std::string>& search_path) {
  std::vector<Listed> listed;
  for (const config::SystemFile& file : config::list_systems(search_path)) {
    Listed system{file.name, file.path, "", "", {}};
    try {
      const config::SystemConfig loaded = config::load_system(file.path, search_path);
      system.description = loaded.description;
      system.calibration = config::calibration_of(loaded, search_path);
    } catch (const InputError& error) {
      system.problem = error.what();  // one broken file does not hide the others
    }
    listed.push_back(std::move(system));
  }
  return listed;
}

int print_list(const std::vector<std::string>& search_path, bool as_json) {
  const std::vector<Listed> listed = list_all(search_path);
  if (as_json) {
    nlohmann::ordered_json systems = nlohmann::ordered_json::array();
    for (const Listed& system : listed) {
      nlohmann::ordered_json entry{{"name", system.name}, {"path", system.path}};
      entry[system.problem.empty() ? "description" : "problem"] =
          system.problem.empty() ? system.description : system.problem;
      if (system.problem.empty()) {
        entry["costs"] = config::calibration_name(system.calibration.kind);
        if (!system.calibration.from.empty()) entry["costs_from"] = system.calibration.from;
      }
      systems.push_back(std::move(entry));
    }
    print_json("systems", std::move(systems));
  } else {
    std::size_t width = 0;
    for (const Listed& system : listed) width = std::max(width, system.name.size());
    for (const Listed& system : listed) {
      fmt::print("{}", wrapped_text(fmt::format("{:<{}}  {}\n", system.name, width,
                                                system.problem.empty()
                                                    ? fmt::format("{}. Driver costs: {}", system.description,
                                                                  config::calibration_text(system.calibration))
                                                    : "cannot be loaded: " + system.problem)));
    }
    fmt::print("\nuvmsim systems NAME shows every parameter of a system and where it comes from.\n");
  }
  const bool all_loaded = std::ranges::all_of(listed, &std::string::empty, &Listed::problem);
  return all_loaded ? 0 : 2;
}

int print_systems(const Values& values) {
  if (values.given("schema")) {
    fmt::print("{}", config::system_file_schema());
    return 0;
  }
  const std::vector<std::string> search_path = config::default_search_path();
  const bool as_json = values.given("json");
  if (values.arguments().empty()) {
    if (values.given("set")) {
      throw_input_error("--set needs a system to change; as in uvmsim systems NAME --set KEY=VALUE");
    }
    return print_list(search_path, as_json);
  }
  config::SystemConfig system = config::load_system(values.arguments().front(), search_path);
  config::apply_overrides(system, values.texts("set"));
  if (as_json) {
    fmt::print("{}", config::resolved_json(system));
    return 0;
  }
  const config::Calibration calibration = config::calibration_of(system, search_path);
  fmt::print("{}\n", wrapped_text(config::system_report(system)));
  fmt::print("{}",
             wrapped_line(fmt::format("driver costs: {}; --uncertainty varies {}\n",
                                      config::calibration_text(calibration), config::corners_of(calibration.kind).text),
                          2));
  return 0;
}

}  // namespace

CommandLine systems_command() {
  return {.usage = kSystemsUsage,
          .options = {{"set", "KEY=VALUE",
                       "change a parameter of the system, or all that match: costs.*=x2 (repeatable)", kRepeatable},
                      {"json", "", "print JSON; with NAME, a complete system file"},
                      {"schema", "", "print the JSON schema of system files"},
                      {"help", "", "print this text"}},
          .most_arguments = 1,
          .run = print_systems,
          .title = "options",
          .width = 80};
}

}  // namespace uvmsim::cli
