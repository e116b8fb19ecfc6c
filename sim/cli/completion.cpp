// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "sim/common/error.h"
#include "sim/formats/did_you_mean.h"

namespace uvmsim::cli {
namespace {

// Turns "check-policy" into a part of a function's name.
std::string identifier(std::string_view text) {
  std::string out(text);
  std::ranges::replace_if(
      out, [](char c) { return c == '-' || c == ' '; }, '_');
  return out;
}

Texts words_for(const Program& program, std::string_view what) {
  if (what == "completion") return {"bash", "zsh", "fish"};
  return program.words_for == nullptr ? Texts{} : program.words_for(what);
}

Texts command_names(const Program& program) {
  Texts names;
  for (const Command& command : program.commands) names.emplace_back(command.name);
  names.emplace_back("help");
  return names;
}

Texts option_words(const NamedLine& named) {
  Texts words;
  for (const Option& option : named.line.options) words.push_back(option.dashed());
  return words;
}

// Returns the words that may come first after a command: its verbs, and the names that it takes.
Texts first_words(const Program& program, const NamedLine& named) {
  Texts words;
  for (const Command& verb : named.line.verbs) words.emplace_back(verb.name);
  for (std::string& word : words_for(program, named.name)) words.push_back(std::move(word));
  return words;
}

// Returns shell code for bash and zsh that sets $command to the command and verb before the current word.
std::string find_command_code(const std::vector<NamedLine>& lines, std::string_view word) {
  std::string known;
  for (const NamedLine& named : lines) {
    const std::size_t space = named.name.find(' ');
    const std::string before = space == std::string::npos ? "" : named.name.substr(0, space);
    const std::string last = space == std::string::npos ? named.name : named.name.substr(space + 1);
    known += fmt::format("{}\"{}|{}\"", known.empty() ? "" : " | ", before, last);
  }
  return fmt::format(R"(    case "$command|{}" in
      {}) command="${{command:+$command }}{}" ;;
    esac
)",
                     word, known, word);
}

std::string bash_script(const Program& program, const std::vector<NamedLine>& lines) {
  const std::string name = identifier(program.name);
  std::string out = fmt::format(R"(# Completion of {0} in bash. Load it with: source <({0} completion bash)
_{1}() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD - 1]}}" command="" words="" i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
{2}  done
  case "$command $previous" in
)",
                                program.name, name, find_command_code(lines, "${COMP_WORDS[i]}"));
  for (const NamedLine& named : lines) {
    Texts files;
    for (const Option& option : named.line.options) {
      if (option.value.empty()) continue;
      const Texts values = words_for(program, option.dashed());
      std::string pattern = fmt::format("\"{} --{}\"", named.name, option.long_name());
      if (!option.short_name().empty()) pattern += fmt::format(" | \"{} -{}\"", named.name, option.short_name());
      if (!values.empty()) {
        out += fmt::format("    {}) words=\"{}\" ;;\n", pattern, fmt::join(values, " "));
      } else {
        files.push_back(pattern);
      }
    }
    // Values without known words are left to the shell's own completion of files.
    if (!files.empty()) out += fmt::format("    {}) return ;;\n", fmt::join(files, " | "));
  }
  out += R"(    *)
      case "$command" in
)";
  out += fmt::format("        \"\") words=\"{} --help --version --no-plugins\" ;;\n",
                     fmt::join(command_names(program), " "));
  for (const NamedLine& named : lines) {
    out += fmt::format("        \"{}\") if [[ \"$current\" == -* ]]; then words=\"{}\"; else words=\"{}\"; fi ;;\n",
                       named.name, fmt::join(option_words(named), " "), fmt::join(first_words(program, named), " "));
  }
  out += fmt::format(R"(      esac
      ;;
  esac
  if [[ -n "$words" ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  fi
}}
complete -o default -F _{1} {0}
)",
                     program.name, name);
  return out;
}

// Escapes text for single quotes of zsh, in a specification of _arguments.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_values(const Texts& values) {
  return values.empty() ? "_files" : fmt::format("({})", fmt::join(values, " "));
}

std::string zsh_script(const Program& program, const std::vector<NamedLine>& lines) {
  const std::string name = identifier(program.name);
  std::string out = fmt::format(R"(#compdef {0}
# Completion of {0} in zsh. Load it with: source <({0} completion zsh), or save it as _{0} in a folder of $fpath.
_{1}() {{
  local command="" i used=0
  for ((i = 2; i < CURRENT; i++)); do
    local before="$command"
{2}    [[ "$command" == "$before" ]] || used=$((i - 1))
  done
  local -a commands
  if [[ -z "$command" ]]; then
    commands=(
)",
                                program.name, name, find_command_code(lines, "${words[i]}"));
  for (const Command& command : program.commands) {
    out += fmt::format("      '{}:{}'\n", command.name, zsh_text(command.summary));
  }
  out += R"(    )
    _describe command commands
    return
  fi
  shift used words
  ((CURRENT -= used))
  case "$command" in
)";
  for (const NamedLine& named : lines) {
    out += fmt::format("    '{}')\n      _arguments -s", named.name);
    for (const Option& option : named.line.options) {
      std::string value;
      if (!option.value.empty()) {
        value = fmt::format(":{}:{}", zsh_text(option.value), zsh_values(words_for(program, option.dashed())));
      }
      out += fmt::format(" \\\n        '{}--{}[{}]{}'", option.repeatable ? "*" : "", option.long_name(),
                         zsh_text(option.meaning), value);
    }
    const Texts positional = first_words(program, named);
    // Files may stand in place of names.
    const std::string files = "'*:argument:_files'";
    out += fmt::format(
        " \\\n        {}\n      ;;\n",
        positional.empty() ? files : fmt::format("'1:argument:({})' {}", fmt::join(positional, " "), files));
  }
  out += fmt::format(R"(  esac
}}
if [[ "$funcstack[1]" == _{1} ]]; then
  _{1} "$@"
else
  compdef _{1} {0}
fi
)",
                     program.name, name);
  return out;
}

std::string fish_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string fish_script(const Program& program, const std::vector<NamedLine>& lines) {
  const std::string name = identifier(program.name);
  Texts keys;
  for (const NamedLine& named : lines) keys.push_back(fmt::format("'{}'", named.name));
  std::string out = fmt::format(R"(# Completion of {0} in fish. Load it with: {0} completion fish | source
function __{1}_at
  set -l found ''
  for word in (commandline -opc)[2..-1]
    set -l longer (string trim "$found $word")
    contains -- $longer {2}; and set found $longer
  end
  test "$found" = "$argv"
end
)",
                                program.name, name, fmt::join(keys, " "));
  const auto at = [&](std::string_view command) { return fmt::format("-n '__{}_at {}'", name, command); };
  for (const Command& command : program.commands) {
    out += fmt::format("complete -c {} {} -f -a {} -d '{}'\n", program.name, at(""), command.name,
                       fish_text(command.summary));
  }
  for (const NamedLine& named : lines) {
    const Texts positional = first_words(program, named);
    if (!positional.empty()) {
      out += fmt::format("complete -c {} {} -a '{}'\n", program.name, at(named.name), fmt::join(positional, " "));
    }
    for (const Option& option : named.line.options) {
      const Texts values = words_for(program, option.dashed());
      std::string argument = option.value.empty() ? "" : " -r";
      if (!values.empty()) argument = fmt::format(" -x -a '{}'", fmt::join(values, " "));
      out += fmt::format("complete -c {} {} -l {}{}{} -d '{}'\n", program.name, at(named.name), option.long_name(),
                         option.short_name().empty() ? "" : fmt::format(" -s {}", option.short_name()), argument,
                         fish_text(option.meaning));
    }
  }
  return out;
}

struct Shell {
  std::string_view name;
  std::string (*script)(const Program& program, const std::vector<NamedLine>& lines);
};
constexpr std::array kShells = {Shell{"bash", bash_script}, Shell{"zsh", zsh_script}, Shell{"fish", fish_script}};

}  // namespace

std::string completion_script(const Program& program, std::string_view shell) {
  Texts names;
  for (const Shell& known : kShells) {
    if (known.name == shell) return known.script(program, command_lines(program));
    names.emplace_back(known.name);
  }
  throw_input_error("completion: unknown shell '{}'{}", shell, allowed_hint(shell, names));
}

}  // namespace uvmsim::cli
