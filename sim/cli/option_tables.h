// SPDX-License-Identifier: Apache-2.0
// The options of a program's commands as data: what completions, manual pages and the reference are made of. They come
// from the tables that parse the command line, so that none is missing and none is only described.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/cli/command_line.h"

namespace uvmsim::cli {

struct OptionRow {
  std::string long_name;   // "osf"
  std::string short_name;  // "o", or empty
  std::string value;       // "X[,Y...]"; empty: takes none
  std::string meaning;
  bool repeatable = false;
};

// A command, or one of its verbs.
struct CommandTable {
  std::string name;     // "trace info"
  std::string summary;  // empty for a verb
  std::string help;     // as --help prints it
  std::vector<OptionRow> options;
  std::vector<std::string> verbs;  // of a command that has some
};

// Every command in the program's order, each followed by its verbs.
std::vector<CommandTable> command_tables(const Program& program);

nlohmann::ordered_json tables_json(const Program& program);

}  // namespace uvmsim::cli
