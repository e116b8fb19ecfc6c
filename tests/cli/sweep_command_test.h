// SPDX-License-Identifier: Apache-2.0
// The common part of the tests of `uvmsim sweep`: sweeps in folders, their files, and concurrent commands.
#pragma once

#include <sqlite3.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"

namespace uvmsim {

class SweepCommandTest : public CommandTest {
 protected:
  SweepCommandTest() {
    folder.write("a.jsonl", two_iterations(16));
    folder.write("b.jsonl", two_iterations(24));
  }

  // Writes NAME.json: traces a and b, recorded iterations, and the keys in `more`, such as R"("osf": [1, 2])".
  std::string spec(const std::string& name, const std::string& more) const {
    const std::string recorded = more.find("iterations") == std::string::npos ? R"("iterations": "recorded", )" : "";
    folder.write(name + ".json",
                 R"({"traces": ["a.jsonl", "b.jsonl"], "systems": "h200-sxm-pcie5", )" + recorded + more + "}");
    return name + ".json";
  }

  CommandResult sweep(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "sweep");
    return run(arguments);
  }

  // Starts `uvmsim sweep ARGUMENTS` and does not wait for it.
  pid_t start(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "sweep");
    return start_command(std::move(arguments));
  }
  pid_t start_command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), UVMSIM_COMMAND);
    const pid_t process = ::fork();
    if (process == 0) {
      std::vector<char*> pointers;
      for (std::string& argument : arguments) pointers.push_back(argument.data());
      pointers.push_back(nullptr);
      if (::chdir(folder.path().c_str()) != 0) ::_exit(99);
      static_cast<void>(std::freopen("background", "w", stdout));
      static_cast<void>(std::freopen("background", "w", stderr));
      ::execv(UVMSIM_COMMAND, pointers.data());
      ::_exit(99);
    }
    return process;
  }
  static int exit_code_of(pid_t process) {
    int status = 0;
    ::waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  // Returns the files in DIR/points by name, without the lock file.
  std::vector<std::string> point_files(const std::string& dir) const {
    std::vector<std::string> names;
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path(dir + "/points"), missing)) {
      if (entry.path().filename() != ".lock") names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  static bool is_result(const std::string& name) { return name.size() == 64 + 5; }
  // Returns the finished points with their content.
  std::map<std::string, std::string> finished(const std::string& dir) const {
    std::map<std::string, std::string> files;
    for (const std::string& name : point_files(dir)) {
      if (is_result(name)) files[name] = folder.read(dir + "/points/" + name);
    }
    return files;
  }
  std::size_t count_finished(const std::string& dir) const {
    const auto names = point_files(dir);
    return static_cast<std::size_t>(std::count_if(names.begin(), names.end(), is_result));
  }
  // Identifies a file independently of its content: it changes whenever the file is written again.
  std::map<std::string, std::filesystem::file_time_type> times(const std::string& dir) const {
    std::map<std::string, std::filesystem::file_time_type> all;
    for (const std::string& name : point_files(dir)) {
      all[name] = std::filesystem::last_write_time(folder.path(dir + "/points/" + name));
    }
    return all;
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(folder.path(name)); }

  // Returns the rows of a query, columns as text, absent ones as "null".
  std::vector<std::vector<std::string>> query(const std::string& database, const std::string& statement) const {
    sqlite3* connection = nullptr;
    EXPECT_EQ(sqlite3_open_v2(folder.path(database).c_str(), &connection, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    std::vector<std::vector<std::string>> rows;
    const auto keep = [](void* all, int count, char** texts, char**) {
      std::vector<std::string> row;
      for (int i = 0; i < count; ++i) row.emplace_back(texts[i] != nullptr ? texts[i] : "null");
      static_cast<std::vector<std::vector<std::string>>*>(all)->push_back(row);
      return 0;
    };
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(connection, statement.c_str(), keep, &rows, &error), SQLITE_OK) << error;
    sqlite3_close(connection);
    return rows;
  }
};

// Returns lines of fields; commas inside quotes only occur in fields that callers ignore.
inline std::vector<std::vector<std::string>> csv_table(const std::string& text) {
  std::vector<std::vector<std::string>> rows{{""}};
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (quoted || (c != ',' && c != '\n')) {
      if (c != '"') rows.back().back() += c;
    } else if (c == ',') {
      rows.back().emplace_back();
    } else {
      rows.push_back({""});
    }
  }
  rows.pop_back();
  return rows;
}

}  // namespace uvmsim
