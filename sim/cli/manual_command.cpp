// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/manual_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "sim/cli/command_line.h"
#include "sim/cli/completion.h"
#include "sim/cli/manual.h"
#include "sim/cli/option_tables.h"
#include "sim/cli/options.h"
#include "sim/common/atomic_file.h"
#include "sim/common/error.h"

namespace uvmsim::cli {
namespace {

namespace po = boost::program_options;

constexpr const char* kCompletionUsage = R"({0} completion SHELL

Prints a script that makes bash, zsh or fish complete commands, options, and names where an option takes one.

Examples:
  source <({0} completion bash)
      in ~/.bashrc; the same with zsh in ~/.zshrc, after compinit
  {0} completion fish | source
      in ~/.config/fish/config.fish
)";

constexpr const char* kManualUsage = R"({0} manual -o DIR
{0} manual --json

Writes a manual page (man 1) for {0} and for each of its commands, or prints all commands and options as JSON.

Examples:
  {0} manual -o ~/.local/share/man/man1 && man {0}-{1}
  {0} manual --json
)";

po::options_description options_with_help() {
  po::options_description options("Options", 110, 70);
  options.add_options()("help,h", po::bool_switch(), "print this text");
  return options;
}

std::string listing(const po::options_description& options) {
  std::ostringstream text;
  text << options;
  return text.str();
}

void write_pages(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw_input_error("cannot write {}: {}", folder, failed.message());
  const Program& program = running_program();
  for (const ManualPage& page : manual_pages(program, help_text(program))) {
    write_file((std::filesystem::path(folder) / page.file).string(), page.text);
  }
}

}  // namespace

int completion_command(const std::vector<std::string>& arguments) {
  const std::string name(running_program().name);
  const po::options_description options = options_with_help();
  const auto values = parse_options(name + " completion", arguments, options, 1);
  if (values["help"].as<bool>()) {
    fmt::print("{}\n{}", fmt::format(kCompletionUsage, name), listing(options));
    return 0;
  }
  const auto shells = positional_arguments(values);
  if (shells.empty()) throw_input_error("completion: no shell given; allowed: bash, zsh, fish");
  fmt::print("{}", completion_script(running_program(), shells.front()));
  return 0;
}

int manual_command(const std::vector<std::string>& arguments) {
  const std::string name(running_program().name);
  po::options_description options = options_with_help();
  options.add_options()("output,o", po::value<std::string>()->value_name("DIR"),
                        "the folder of the pages, made where it is missing")(
      "json", po::bool_switch(), "print every command with its help and options as JSON");
  const auto values = parse_options(name + " manual", arguments, options, 0);
  if (values["help"].as<bool>()) {
    fmt::print("{}\n{}", fmt::format(kManualUsage, name, running_program().commands.front().name), listing(options));
    return 0;
  }
  const auto folder = text_of(values, "output");
  const bool as_json = values["json"].as<bool>();
  if (as_json == folder.has_value()) {
    throw_input_error("manual: {}; allowed: one of -o DIR and --json", as_json ? "both are given" : "nothing to do");
  }
  if (as_json) {
    fmt::print("{}\n", tables_json(running_program()).dump(2));
  } else {
    write_pages(*folder);
  }
  return 0;
}

}  // namespace uvmsim::cli
