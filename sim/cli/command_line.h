// SPDX-License-Identifier: Apache-2.0
// A program of subcommands, such as `uvmsim` and `uvmtrace`: its help, errors as one line and an exit code, completion
// scripts and manual pages.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cli/options.h"

namespace uvmsim::cli {

struct Program {
  std::string_view name;      // "uvmsim"
  std::string_view purpose;   // the help's first line
  std::string_view examples;  // indented lines, the last one with its newline
  std::span<const Command> commands;
  std::string_view exit_code_note;  // appended to the help's section on exit codes
  std::string_view bug_owner;       // "this is a bug in <...>"
  // Returns the names that an option ("--system") or a command ("systems") takes, for completion; none for files.
  std::vector<std::string> (*words_for)(std::string_view what) = nullptr;
  bool tells_long_work = false;  // long commands print progress lines (work_line.h)
};

// Returns the text of --help.
std::string help_text(const Program& program);

struct NamedLine {
  std::string name;          // "trace info"
  std::string_view summary;  // empty for a verb
  CommandLine line;
};

// Returns all commands in the program's order, each followed by its verbs, for completions and manual pages.
std::vector<NamedLine> command_lines(const Program& program);

// Returns the program that run_program() runs.
const Program& running_program();

// Runs the subcommand that the arguments begin with, or prints help or version. Prints an error on standard error in
// one line. Returns the process's exit code: the subcommand's, 2 for InputError, 3 for any other exception, 130 for
// Interrupted.
int run_program(const Program& program, int argument_count, char** arguments);

// Return the command lines of `completion` and `manual`, which describe the running program.
CommandLine completion_command();
CommandLine manual_command();

// Returns a script that the shell loads. `shell`: bash, zsh or fish. Throws InputError for another one.
std::string completion_script(const Program& program, std::string_view shell);

struct ManualPage {
  std::string file;  // "uvmsim-run.1"
  std::string text;  // for troff
};

// Returns the manual pages (man 1) of a program and its commands; the program's own comes first.
std::vector<ManualPage> manual_pages(const Program& program);

}  // namespace uvmsim::cli
