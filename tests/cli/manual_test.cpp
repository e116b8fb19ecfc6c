// SPDX-License-Identifier: Apache-2.0
// Tests of `uvmsim completion` and `uvmsim manual`: they miss nothing that the help lists, and bash can use the script.
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "tests/cli/command.h"

namespace uvmsim {
namespace {

using ::testing::HasSubstr;

class Manual : public CommandTest {
 protected:
  // Returns bash's completions after the words, the last of which is being typed.
  std::set<std::string> completed(const std::string& words) {
    folder.write("complete.sh",
                 run({"completion", "bash"}).out + "COMP_WORDS=(" + words +
                     ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_uvmsim\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n");
    const std::string out = folder.path("offered");
    EXPECT_EQ(std::system(("bash -euo pipefail " + folder.path("complete.sh") + " >" + out).c_str()), 0) << words;
    std::istringstream lines(folder.read("offered"));
    std::set<std::string> offered;
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty()) offered.insert(line);
    }
    return offered;
  }
};

std::set<std::string> found(const std::string& text, const char* pattern) {
  std::set<std::string> names;
  const std::regex expression(pattern, std::regex::multiline);
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at) names.insert((*at)[1]);
  return names;
}

TEST_F(Manual, HasEveryCommandAndOptionOfTheHelp) {
  const CommandResult result = run({"manual", "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  std::set<std::string> commands;
  for (const auto& command : json["commands"]) {
    const std::string name = command["name"];
    if (name.find(' ') == std::string::npos) commands.insert(name);
    std::set<std::string> options;
    for (const auto& option : command["options"]) {
      options.insert("--" + option["name"].get<std::string>());
      EXPECT_NE(option["meaning"], "") << name << " " << option["name"];
    }
    // A verb may share its command's help, which then lists the options of all verbs.
    const std::set<std::string> listed = found(command["help"], R"(^  (?:-\w \[ )?(--[a-z0-9-]+))");
    if (name == "sweep") {
      for (const auto& verb : json["commands"]) {
        if (verb["name"] == "sweep run" || verb["name"] == "sweep collect") {
          for (const auto& option : verb["options"]) options.insert("--" + option["name"].get<std::string>());
        }
      }
    }
    if (name.find(' ') == std::string::npos || name.starts_with("trace ")) {
      for (const std::string& option : listed) EXPECT_EQ(options.count(option), 1u) << name << " " << option;
    }
    for (const std::string& option : options) {
      if (listed.empty()) continue;
      EXPECT_EQ(listed.count(option), 1u) << name << " " << option;
    }
  }
  const std::string help = run({"--help"}).out;
  EXPECT_EQ(commands, found(help.substr(help.find("\nCommands:\n")), R"(^  ([a-z-]+)  +\S)"));
}

TEST_F(Manual, IsAPagePerCommand) {
  ASSERT_EQ(run({"manual", "-o", "man/man1"}).exit_code, 0);
  const auto json = nlohmann::json::parse(run({"manual", "--json"}).out);
  for (const auto& command : json["commands"]) {
    std::string name = command["name"];
    std::replace(name.begin(), name.end(), ' ', '-');
    const std::string page = folder.read("man/man1/uvmsim-" + name + ".1");
    EXPECT_THAT(page, HasSubstr(".SH NAME\nuvmsim")) << name;
    EXPECT_THAT(page, HasSubstr(".SH OPTIONS\n.TP\n")) << name;
  }
  EXPECT_THAT(folder.read("man/man1/uvmsim.1"), HasSubstr(".BR uvmsim\\-trace\\-info (1)"));
  EXPECT_THAT(folder.read("man/man1/uvmsim-run.1"), HasSubstr("\\fB\\-\\-osf\\fR \\fIX[,Y...]\\fR"));
}

TEST_F(Manual, BashCompletes) {
  EXPECT_EQ(completed("uvmsim ru"), std::set<std::string>{"run"});
  EXPECT_EQ(completed("uvmsim trace in"), std::set<std::string>{"info"});
  EXPECT_EQ(completed("uvmsim run x.uvmt --sys"), std::set<std::string>{"--system"});
  EXPECT_EQ(completed("uvmsim run x.uvmt --system h200-sxm"), std::set<std::string>{"h200-sxm-pcie5"});
  EXPECT_EQ(completed("uvmsim run x.uvmt --prefetch tre"), (std::set<std::string>{"tree", "tree_by_process"}));
  EXPECT_EQ(completed("uvmsim sweep run dir --sha"), std::set<std::string>{"--shard"});
  EXPECT_EQ(completed("uvmsim policies lr"), (std::set<std::string>{"lrm", "lru", "lru_k"}));
  // Names of files are left to bash.
  EXPECT_TRUE(completed("uvmsim run x.uvmt --json r").empty());
  EXPECT_TRUE(completed("uvmsim sweep s.json -o r").empty());
  EXPECT_EQ(completed("uvmsim completion f"), std::set<std::string>{"fish"});
}

TEST_F(Manual, WrongCallsAreOneLine) {
  expect_one_line_error(run({"completion"}), {"no shell given", "bash, zsh, fish"});
  expect_one_line_error(run({"completion", "tcsh"}), {"unknown shell 'tcsh'", "bash, zsh, fish"});
  expect_one_line_error(run({"manual"}), {"-o DIR", "--json"});
  expect_one_line_error(run({"manual", "--json", "-o", "x"}), {"both"});
  folder.write("file", "");
  expect_one_line_error(run({"manual", "-o", "file"}), {"cannot write file"});
}

}  // namespace
}  // namespace uvmsim
