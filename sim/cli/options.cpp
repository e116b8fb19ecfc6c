// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/options.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "sim/common/error.h"
#include "sim/formats/did_you_mean.h"

namespace uvmsim::cli {
namespace {

namespace po = boost::program_options;

constexpr const char* kPositional = "argument";

const po::option_description* find_option(const po::options_description& options, std::string_view name) {
  for (const auto& option : options.options()) {
    if (option->long_name() == name) return option.get();
  }
  return nullptr;
}

bool takes_value(const po::option_description& option) { return option.semantic()->max_tokens() > 0; }

std::vector<std::string> option_names(const po::options_description& options) {
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back("--" + option->long_name());
  return names;
}

// Joins "--osf -1" to "--osf=-1": otherwise a value that starts with a dash would be taken for an option, and the
// message would speak of a missing value instead of a wrong one. Also rejects what has no value.
std::vector<std::string> join_values(const std::vector<std::string>& arguments,
                                     const po::options_description& options) {
  std::vector<std::string> joined;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      joined.insert(joined.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    const auto* option = argument.starts_with("--") ? find_option(options, argument.substr(2)) : nullptr;
    if (option == nullptr || !takes_value(*option)) {
      joined.push_back(argument);
      continue;
    }
    if (i + 1 == arguments.size() || arguments[i + 1].starts_with("--")) {
      throw_input_error("option {} needs a value: {}", argument, option->description());
    }
    joined.push_back(argument + "=" + arguments[++i]);
  }
  return joined;
}

// While options_of() runs, parse_options() throws what it was given.
struct AskedFor {
  po::options_description options;
};
bool only_ask = false;

// The options as written, without values: "--osf".
std::string as_written(const std::string& token) { return token.substr(0, token.find('=')); }

}  // namespace

po::variables_map parse_options(const std::string& command, const std::vector<std::string>& arguments,
                                const po::options_description& options, std::size_t positional_limit) {
  if (only_ask) throw AskedFor{options};
  po::options_description all;
  all.add(options).add_options()(kPositional, po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add(kPositional, -1);
  // Full names only: an abbreviation that works today would be ambiguous when the next option comes.
  const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;

  po::variables_map values;
  try {
    const auto parsed =
        po::command_line_parser(join_values(arguments, options)).options(all).positional(positional).style(style).run();
    po::store(parsed, values);
    po::notify(values);
  } catch (const po::unknown_option& error) {
    const std::string name = as_written(error.get_option_name());
    throw_input_error("unknown option {}{}; `{} --help` lists all", name, did_you_mean(name, option_names(options)),
                      command);
  } catch (const po::multiple_occurrences& error) {
    throw_input_error("option {} is given twice", error.get_option_name());
  } catch (const po::invalid_command_line_syntax& error) {
    const std::string name = as_written(error.get_option_name());
    if (error.kind() == po::invalid_syntax::extra_parameter) throw_input_error("option {} takes no value", name);
    throw_input_error("option {} needs a value", name);
  } catch (const po::error& error) {
    throw_input_error("{}; `{} --help` lists all options", error.what(), command);
  }

  const auto found = positional_arguments(values);
  if (found.size() > positional_limit) {
    throw_input_error("unexpected argument '{}'; `{} --help` says what it takes", found[positional_limit], command);
  }
  return values;
}

po::options_description options_of(const std::function<void()>& call) {
  only_ask = true;
  try {
    call();
  } catch (const AskedFor& answer) {
    only_ask = false;
    return answer.options;
  } catch (...) {
    only_ask = false;
    throw;
  }
  only_ask = false;
  throw std::logic_error("a command parses no options");
}

std::vector<std::string> positional_arguments(const po::variables_map& values) {
  const auto found = values.find(kPositional);
  return found == values.end() ? std::vector<std::string>{} : found->second.as<std::vector<std::string>>();
}

std::optional<std::string> text_of(const po::variables_map& values, const char* name) {
  if (values.count(name) == 0) return std::nullopt;
  return values[name].as<std::string>();
}

}  // namespace uvmsim::cli
