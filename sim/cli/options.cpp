// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <sstream>

#include "sim/common/error.h"
#include "sim/formats/did_you_mean.h"
#include "sim/formats/printable.h"
#include "sim/sweep/values.h"

namespace uvmsim::cli {
namespace {

namespace po = boost::program_options;

constexpr const char* kPositional = "argument";
constexpr unsigned kNamesWidth = 40;  // at most, in the list of options

po::options_description described(const CommandLine& line) {
  po::options_description options(std::string(line.title), line.width, line.width - kNamesWidth);
  for (const Option& option : line.options) {
    const std::string name(option.name), meaning(option.meaning);
    const auto add = [&](const po::value_semantic* kind) {
      options.add_options()(name.c_str(), kind, meaning.c_str());
    };
    if (option.value.empty()) {
      add(po::bool_switch());
    } else if (option.repeatable) {
      add(po::value<Texts>()->composing()->value_name(std::string(option.value)));
    } else {
      add(po::value<std::string>()->value_name(std::string(option.value)));
    }
  }
  return options;
}

// Joins "--osf -1" to "--osf=-1": otherwise a value that starts with a dash would be taken for an option, and the
// message would speak of a missing value instead of a wrong one. Rejects options without their value.
Arguments join_values(const Arguments& arguments, const CommandLine& line) {
  Arguments joined;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      joined.insert(joined.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    const auto option = std::ranges::find(line.options, argument, &Option::dashed);
    if (option == line.options.end() || option->value.empty()) {
      joined.push_back(argument);
      continue;
    }
    if (i + 1 == arguments.size() || arguments[i + 1].starts_with("--")) {
      throw_input_error("option {} needs a value: {}", argument, option->meaning);
    }
    joined.push_back(argument + "=" + arguments[++i]);
  }
  return joined;
}

po::parsed_options parsed(const CommandLine& line, const std::string& name, const Arguments& arguments) {
  po::options_description all = described(line);
  all.add_options()(kPositional, po::value<Arguments>());
  po::positional_options_description positional;
  positional.add(kPositional, -1);
  // Only full names are allowed: an abbreviation that works today could become ambiguous with a new option.
  const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  // Returns the option as written, without a value: "--osf".
  const auto written = [](const auto& error) {
    const std::string token = error.get_option_name();
    return token.substr(0, token.find('='));
  };
  try {
    auto found =
        po::command_line_parser(join_values(arguments, line)).options(all).positional(positional).style(style).run();
    po::variables_map checked;
    po::store(found, checked);
    po::notify(checked);
    return found;
  } catch (const po::unknown_option& error) {
    Texts known;
    for (const Option& option : line.options) known.push_back(option.dashed());
    throw_input_error("unknown option {}{}; `{} --help` lists all", written(error), did_you_mean(written(error), known),
                      name);
  } catch (const po::multiple_occurrences& error) {
    throw_input_error("option {} is given twice", error.get_option_name());
  } catch (const po::invalid_command_line_syntax& error) {
    const bool not_wanted = error.kind() == po::invalid_syntax::extra_parameter;
    throw_input_error("option {} {}", written(error), not_wanted ? "takes no value" : "needs a value");
  } catch (const po::error& error) {
    throw_input_error("{}; `{} --help` lists all options", error.what(), name);
  }
}

// Prints help, or throws for a missing or unknown verb, if a command has only verbs.
int run_no_verb(const CommandLine& line, const std::string& name, const Arguments& arguments) {
  const std::string command = name.substr(name.find(' ') + 1);
  if (arguments.empty()) throw_input_error("{}: no verb given; `{} --help` lists them", command, name);
  const std::string& word = arguments.front();
  if (word == "--help" || word == "-h" || word == "help") {
    if (word != "help") read(line, name, arguments);
    fmt::print("{}", help_of(line));
    return 0;
  }
  std::vector<std::string_view> verbs;
  for (const Command& verb : line.verbs) verbs.push_back(verb.name);
  throw_input_error("{}: unknown verb '{}'{}", command, printable(word), allowed_hint(word, verbs));
}

}  // namespace

Texts Values::texts(std::string_view option) const {
  const auto found = options_.find(option);
  return found == options_.end() ? Texts{} : found->second;
}

Texts Values::listed(std::string_view option) const {
  Texts items;
  for (const std::string& text : texts(option)) {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      if (end == begin) throw_input_error("--{}: '{}' names nothing between its commas", option, text);
      items.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return items;
}

std::optional<std::string> Values::text(std::string_view option) const {
  const auto found = options_.find(option);
  if (found == options_.end()) return std::nullopt;
  return found->second.front();
}

std::string Values::required(std::string_view option, const std::string& message) const {
  auto given = text(option);
  if (!given) throw InputError(message);
  return *std::move(given);
}

std::uint64_t Values::number(std::string_view option, std::uint64_t otherwise, const Range& range) const {
  const auto given = text(option);
  if (!given) return otherwise;
  const std::string shown = fmt::format("--{}", option);
  const std::uint64_t number = sweep::parse_unsigned(shown, *given);
  if (number < range.least || number > range.most) {
    throw_input_error("{}: {}{}; allowed: {} to {}", shown, range.as_typed ? *given : fmt::to_string(number),
                      range.complaint, range.least, range.most);
  }
  return number;
}

std::uint64_t Values::size(std::string_view option, std::uint64_t otherwise) const {
  const auto given = text(option);
  return given ? sweep::parse_size(fmt::format("--{}", option), *given) : otherwise;
}

const std::string& Values::first(const std::string& message) const {
  if (arguments_.empty()) throw InputError(message);
  return arguments_.front();
}

std::string help_of(const CommandLine& line) {
  std::ostringstream text;
  text << line.usage;
  if (line.lists_options) text << described(line);
  return text.str() + line.notes;
}

Values read(const CommandLine& line, const std::string& name, const Arguments& arguments) {
  Values values;
  const auto last = line.last_word.empty() ? arguments.end() : std::ranges::find(arguments, line.last_word);
  if (last != arguments.end()) values.rest_ = Arguments(last + 1, arguments.end());
  for (const po::option& found : parsed(line, name, {arguments.begin(), last}).options) {
    Texts& texts = found.string_key == kPositional ? values.arguments_ : values.options_[found.string_key];
    texts.insert(texts.end(), found.value.begin(), found.value.end());
  }
  if (values.arguments_.size() > line.most_arguments) {
    throw_input_error("unexpected argument '{}'; `{} --help` lists the arguments",
                      values.arguments_[line.most_arguments], name);
  }
  return values;
}

int run(const CommandLine& line, const std::string& name, const Arguments& arguments) {
  for (const Command& verb : line.verbs) {
    if (arguments.empty() || verb.name != arguments.front()) continue;
    return run(verb.line(), fmt::format("{} {}", name, verb.name), {arguments.begin() + 1, arguments.end()});
  }
  if (line.run == nullptr) return run_no_verb(line, name, arguments);
  const Values values = read(line, name, arguments);
  if (!values.given("help")) return line.run(values);
  fmt::print("{}", help_of(line));
  return 0;
}

}  // namespace uvmsim::cli
