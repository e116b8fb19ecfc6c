// SPDX-License-Identifier: Apache-2.0
// Command lines as data: a command's options, its help, and the function that it runs. One parser reads all of them, so
// that every mistake is one line that names the option; help, completions and manual pages use the same tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace uvmsim::cli {

using Arguments = std::vector<std::string>;
using Texts = std::vector<std::string>;

struct Option {
  std::string_view name;   // "osf", or with a short name "output,o"
  std::string_view value;  // as help shows it: "X[,Y...]"; empty: a flag without a value
  std::string_view meaning;
  bool repeatable = false;

  std::string_view long_name() const { return name.substr(0, name.find(',')); }
  std::string_view short_name() const { return name == long_name() ? "" : name.substr(long_name().size() + 1); }
  std::string dashed() const { return "--" + std::string(long_name()); }
};

inline constexpr bool kRepeatable = true;
inline constexpr std::size_t kAnyNumber = SIZE_MAX;  // of arguments

// Options that many commands have.
inline constexpr Option kHelp{"help,h", "", "print this text"};
inline constexpr Option kVerbose{"verbose", "", "say on standard error what is being done"};
inline constexpr Option kSettings{"set", "KEY=VALUE", "change one number of the system; may be repeated", kRepeatable};
inline constexpr Option kPlugins{
    "plugin", "FILE", "load policies from a shared library, a file or a name in the search path; may be repeated",
    kRepeatable};

// The numbers that an option takes, and the complaint about others: "--jobs: 0<complaint>; allowed: ".
struct Range {
  std::uint64_t least = 0;
  std::uint64_t most = UINT64_MAX;
  std::string_view complaint = " is not allowed";
  bool as_typed = false;  // the message shows the text, not the number
};

// Exit codes (README.md has them all).
inline constexpr int kFine = 0;
inline constexpr int kFailed = 1;
inline constexpr int kInterrupted = 130;  // as a shell reports Ctrl-C

struct CommandLine;

// The options and arguments that a command line gave. Options go by their long names.
class Values {
 public:
  bool given(std::string_view option) const { return options_.contains(option); }
  // Returns all values of an option; none if it was not given or is a flag.
  Texts texts(std::string_view option) const;
  // Splits lists: "a,b" and "c" -> a, b, c. Throws InputError if nothing stands between two commas.
  Texts listed(std::string_view option) const;
  std::optional<std::string> text(std::string_view option) const;
  // Throws InputError(message) if the option is missing.
  std::string required(std::string_view option, const std::string& message) const;
  // Returns `otherwise` if the option was not given. Throws InputError for a wrong value.
  std::uint64_t number(std::string_view option, std::uint64_t otherwise, const Range& range = {}) const;
  std::uint64_t size(std::string_view option, std::uint64_t otherwise) const;  // in bytes

  // Returns all given options, by name.
  const std::map<std::string, Texts, std::less<>>& options() const { return options_; }

  // Returns the arguments that are not options, in order.
  const Arguments& arguments() const { return arguments_; }
  // Throws InputError(message) if there is none.
  const std::string& first(const std::string& message) const;
  // Returns the arguments after CommandLine::last_word, if that was given.
  const std::optional<Arguments>& rest() const { return rest_; }

 private:
  friend Values read(const CommandLine& line, const std::string& name, const Arguments& arguments);

  std::map<std::string, Texts, std::less<>> options_;
  Arguments arguments_;
  std::optional<Arguments> rest_;
};

struct Command {
  std::string_view name;
  std::string_view summary;  // for the program's help; empty for a verb
  CommandLine (*line)();
};

struct CommandLine {
  std::string usage;  // help text before the options
  std::vector<Option> options;
  std::string notes = {};          // help text after the options
  std::size_t most_arguments = 0;  // other than options
  // Returns the exit code; throws InputError for what the user got wrong. Null: there are only verbs.
  int (*run)(const Values& values) = nullptr;
  std::vector<Command> verbs =
      {};  // first arguments with a command line of their own, as `info` of `uvmsim trace info`
  std::string_view last_word = {};  // ends the options: the arguments after it belong to another command line
  bool lists_options = true;        // false: `usage` lists them
  std::string_view title = "Options";
  unsigned width = 110;  // of the list of options
};

// Returns the text of --help.
std::string help_of(const CommandLine& line);

// Reads the arguments of `name`, say "uvmsim run". Throws InputError for an unknown option (with the nearest known
// one), a missing or unwanted value, an option given twice, too many arguments.
Values read(const CommandLine& line, const std::string& name, const Arguments& arguments);

// Reads the arguments, then prints the help or runs the command or one of its verbs. Returns the exit code.
int run(const CommandLine& line, const std::string& name, const Arguments& arguments);

}  // namespace uvmsim::cli
