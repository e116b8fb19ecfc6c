// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/command_line.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <new>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "sim/cli/interrupt.h"
#include "sim/cli/terminal.h"
#include "sim/cli/work_line.h"
#include "sim/common/error.h"
#include "sim/common/file_roles.h"
#include "sim/common/out_of_memory.h"
#include "sim/common/plain_text.h"
#include "sim/common/version.h"
#include "sim/formats/did_you_mean.h"
#include "sim/formats/wrapped.h"
#include "sim/policy/plugin.h"

namespace uvmsim::cli {
namespace {

constexpr int kInputError = 2;
constexpr int kBug = 3;  // or out of memory

const Program* running = nullptr;

}  // namespace

std::string help_text(const Program& program) {
  std::size_t width = 0;
  for (const Command& command : program.commands) width = std::max(width, command.name.size() + 2);
  std::string text = fmt::format("{}\n\nExamples:\n{}\nCommands:\n", program.purpose, program.examples);
  for (const Command& command : program.commands) {
    text += fmt::format("  {:<{}}{}\n", command.name, width, command.summary);
  }
  return text + fmt::format(
                    "\n`{0} COMMAND --help` explains one. `{0} --version` prints the version. `{0} --no-plugins "
                    "COMMAND ...` loads no\n"
                    "policy plug-in, whatever options and files name.\n"
                    "Exit code: 0 fine, 1 a check failed, 2 an error in the input or the command line, 3 a bug{1} or "
                    "no memory.\n",
                    program.name, program.exit_code_note);
}

std::vector<NamedLine> command_lines(const Program& program) {
  std::vector<NamedLine> lines;
  for (const Command& command : program.commands) {
    const CommandLine line = command.line();
    lines.push_back({std::string(command.name), command.summary, line});
    for (const Command& verb : line.verbs) {
      lines.push_back({fmt::format("{} {}", command.name, verb.name), "", verb.line()});
    }
  }
  return lines;
}

const Program& running_program() { return *running; }

namespace {

const Command& find_command(const Program& program, const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : program.commands) {
    if (command.name == name) return command;
    names.emplace_back(command.name);
  }
  throw_input_error("unknown command '{}'{}", name, allowed_hint(name, names));
}

int dispatch(const Program& program, std::vector<std::string> arguments) {
  if (!arguments.empty() && arguments.front() == "--no-plugins") {
    policy::forbid_plugins();
    arguments.erase(arguments.begin());
  }
  if (arguments.empty()) throw_input_error("no command given; `{} --help` shows examples", program.name);
  const std::string name = arguments.front();
  arguments.erase(arguments.begin());
  if (name == "--version") {
    fmt::print("{} {}\n", program.name, version());
    return 0;
  }
  if (name == "--help" || name == "-h" || (name == "help" && arguments.empty())) {
    fmt::print("{}", help_text(program));
    return 0;
  }
  const Command& command = find_command(program, name == "help" ? arguments.front() : name);
  std::optional<WorkLine> work_line;
  if (program.tells_long_work) work_line.emplace(fmt::format("{}: {}", program.name, command.name));
  return run(command.line(), fmt::format("{} {}", program.name, command.name),
             name == "help" ? Arguments{"--help"} : arguments);
}

// Throws if output was lost (a full disk, a closed pipe), so that the command does not report success.
void flush_standard_output() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw_input_error("cannot write standard output: {}", std::strerror(errno));
  }
}

// Prints the last message. Standard error may be closed or full; errors of the print are ignored.
template <class... Args>
int complain(int code, const Program& program, fmt::format_string<Args...> format, Args&&... args) {
  std::string line = fmt::format("{}: ", program.name),
              text = plain_line(fmt::format(format, std::forward<Args>(args)...));
  constexpr std::string_view kError = "error:";
  if (text.starts_with(kError)) text.replace(0, kError.size(), styled(STDERR_FILENO, kRed, kError));
  line += text;
  line += '\n';
  static_cast<void>(std::fwrite(line.data(), 1, line.size(), stderr));
  return code;
}

// Returns a message. The message of the system names neither the stream that cannot be written nor the resource that a
// thread lacks.
std::string what_failed(const std::system_error& error) {
  if (std::ferror(stdout) != 0) return fmt::format("cannot write standard output: {}", error.code().message());
  if (error.code() == std::errc::resource_unavailable_try_again) {
    return "no memory or no process is left for another thread (limits: ulimit -v, ulimit -u)";
  }
  return error.what();
}

// Prints a message without allocating memory.
int complain_without_memory() {
  for (const std::string_view part : {std::string_view(running->name), std::string_view(": error: out of memory\n")}) {
    static_cast<void>(std::fwrite(part.data(), 1, part.size(), stderr));
  }
  return kBug;
}

// Opens those of the descriptors 0 to 2 that are closed, before any other file: otherwise a file or socket would get
// such a number, and printed text would land in it. Reading or writing these streams then fails like a closed one; only
// messages on standard error are lost.
void open_closed_standard_streams() {
  // The directions of 0 and 1 are swapped, so that they fail with EBADF instead of an empty input or lost results.
  constexpr std::array kFlags = {O_WRONLY, O_RDONLY, O_WRONLY};
  for (int descriptor = 0; descriptor < static_cast<int>(kFlags.size()); ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    // open() takes the lowest free number, which is this one, because those below are open. If it fails, no message can
    // be shown.
    if (::open("/dev/null", kFlags.at(static_cast<std::size_t>(descriptor))) != descriptor) std::_Exit(2);
  }
}

}  // namespace

int run_program(const Program& program, int argument_count, char** arguments) {
  open_closed_standard_streams();
  running = &program;
  end_without_memory_by(complain_without_memory);
  const InterruptGuard signals(program.name);
  const FileRoles roles;
  set_line_width(columns_of_terminal(STDOUT_FILENO));
  try {
    const int code = dispatch(program, {arguments + std::min(argument_count, 1), arguments + argument_count});
    flush_standard_output();
    return code;
  } catch (const InputError& error) {
    return complain(kInputError, program, "error: {}", error.what());
  } catch (const Interrupted&) {
    return complain(kInterrupted, program, "interrupted, no output is half written");
  } catch (const std::bad_alloc&) {
    return complain_without_memory();
  } catch (const std::system_error& error) {  // a file, a stream or a thread that the system refuses
    return complain(kInputError, program, "error: {}", what_failed(error));
  } catch (const std::exception& error) {  // ModelError among them
    return complain(kBug, program, "this is a bug in {}: {}", program.bug_owner, error.what());
  }
}

}  // namespace uvmsim::cli
