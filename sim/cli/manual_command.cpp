// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/command_line.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "sim/common/atomic_file.h"
#include "sim/common/error.h"
#include "sim/common/version.h"

namespace uvmsim::cli {
namespace {

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

nlohmann::ordered_json commands_json(const Program& program) {
  using Json = nlohmann::ordered_json;
  Json commands = Json::array();
  for (const NamedLine& named : command_lines(program)) {
    Json options = Json::array(), verbs = Json::array();
    for (const Option& option : named.line.options) {
      options.push_back({{"name", option.long_name()},
                         {"short_name", option.short_name()},
                         {"value", option.value},
                         {"repeatable", option.repeatable},
                         {"meaning", option.meaning}});
    }
    for (const Command& verb : named.line.verbs) verbs.push_back(verb.name);
    commands.push_back({{"name", named.name},
                        {"summary", named.summary},
                        {"verbs", std::move(verbs)},
                        {"help", help_of(named.line)},
                        {"options", std::move(options)}});
  }
  return {{"schema_version", 1},
          {"program", program.name},
          {"version", version()},
          {"purpose", program.purpose},
          {"commands", std::move(commands)}};
}

void write_pages(const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw_input_error("cannot write {}: {}", folder, failed.message());
  for (const ManualPage& page : manual_pages(running_program())) {
    write_file((std::filesystem::path(folder) / page.file).string(), page.text);
  }
}

int print_completion(const Values& values) {
  fmt::print(
      "{}", completion_script(running_program(), values.first("completion: no shell given; allowed: bash, zsh, fish")));
  return 0;
}

int make_manual(const Values& values) {
  const bool as_json = values.given("json");
  if (as_json == values.given("output")) {
    throw_input_error("manual: {}; allowed: one of -o DIR and --json", as_json ? "both are given" : "nothing to do");
  }
  if (as_json) {
    fmt::print("{}\n", commands_json(running_program()).dump(2));
  } else {
    write_pages(*values.text("output"));
  }
  return 0;
}

}  // namespace

CommandLine completion_command() {
  return {.usage = fmt::format(kCompletionUsage, running_program().name),
          .options = {kHelp},
          .most_arguments = 1,
          .run = print_completion};
}

CommandLine manual_command() {
  const Program& program = running_program();
  return {.usage = fmt::format(kManualUsage, program.name, program.commands.front().name),
          .options = {kHelp,
                      {"output,o", "DIR", "the folder of the pages, created if it does not exist"},
                      {"json", "", "print every command with its help and options as JSON"}},
          .run = make_manual};
}

}  // namespace uvmsim::cli
