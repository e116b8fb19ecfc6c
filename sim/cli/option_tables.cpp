// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/option_tables.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/cli/options.h"
#include "sim/common/error.h"
#include "sim/common/version.h"

namespace uvmsim::cli {
namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// What `call` prints on standard output.
template <class Call>
std::string printed_by(const Call& call) {
  const std::unique_ptr<std::FILE, FileCloser> file(std::tmpfile());
  const int kept = ::dup(STDOUT_FILENO);
  if (!file || kept < 0 || std::fflush(stdout) != 0 || ::dup2(::fileno(file.get()), STDOUT_FILENO) < 0) {
    throw_input_error("cannot write a temporary file: {}", std::strerror(errno));
  }
  const auto give_back = [kept] {
    std::fflush(stdout);
    ::dup2(kept, STDOUT_FILENO);
    ::close(kept);
  };
  try {
    call();
  } catch (...) {
    give_back();
    throw;
  }
  give_back();
  std::string text;
  std::rewind(file.get());
  char part[4096];
  for (std::size_t size; (size = std::fread(part, 1, sizeof part, file.get())) > 0;) text.append(part, size);
  return text;
}

std::vector<OptionRow> rows_of(const boost::program_options::options_description& options) {
  std::vector<OptionRow> rows;
  for (const auto& option : options.options()) {
    OptionRow row;
    row.long_name = option->long_name();
    const std::string shown =
        option->canonical_display_name(boost::program_options::command_line_style::allow_dash_for_short);
    if (shown.size() == 2 && shown.front() == '-') row.short_name = shown.substr(1);
    if (option->semantic()->max_tokens() > 0) row.value = option->semantic()->name();
    row.meaning = option->description();
    row.repeatable = option->semantic()->is_composing();
    rows.push_back(std::move(row));
  }
  return rows;
}

CommandTable table_of(const Command& command, std::string_view verb) {
  std::vector<std::string> arguments{"--help"};
  if (!verb.empty()) arguments.insert(arguments.begin(), std::string(verb));
  CommandTable table;
  table.name = command.name;
  if (verb.empty()) {
    table.summary = command.summary;
  } else {
    table.name += " " + std::string(verb);
  }
  table.help = printed_by([&] { command.run(arguments); });
  table.options = rows_of(options_of([&] { command.run(arguments); }));
  return table;
}

}  // namespace

std::vector<CommandTable> command_tables(const Program& program) {
  std::vector<CommandTable> tables;
  for (const Command& command : program.commands) {
    tables.push_back(table_of(command, ""));
    if (command.verbs == nullptr) continue;
    const std::vector<std::string> verbs = command.verbs();
    tables.back().verbs = verbs;
    for (const std::string& verb : verbs) tables.push_back(table_of(command, verb));
  }
  return tables;
}

nlohmann::ordered_json tables_json(const Program& program) {
  using Json = nlohmann::ordered_json;
  Json commands = Json::array();
  for (const CommandTable& table : command_tables(program)) {
    Json options = Json::array();
    for (const OptionRow& row : table.options) {
      options.push_back({{"name", row.long_name},
                         {"short_name", row.short_name},
                         {"value", row.value},
                         {"repeatable", row.repeatable},
                         {"meaning", row.meaning}});
    }
    commands.push_back({{"name", table.name},
                        {"summary", table.summary},
                        {"verbs", table.verbs},
                        {"help", table.help},
                        {"options", std::move(options)}});
  }
  return {{"schema_version", 1},
          {"program", program.name},
          {"version", version()},
          {"purpose", program.purpose},
          {"commands", std::move(commands)}};
}

}  // namespace uvmsim::cli
