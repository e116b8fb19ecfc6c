#include "tracer/cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "sim/common/error.h"
#include "sim/policy/name_suggestion.h"

namespace uvmtrace {

namespace po = boost::program_options;
using uvmsim::throw_input_error;

namespace {

constexpr const char* kPositional = "argument";

const po::option_description* find_option(const po::options_description& options, std::string_view name) {
  for (const auto& option : options.options()) {
    if (option->long_name() == name) {
      return option.get();
    }
  }
  return nullptr;
}

// Joins "--phases -1" to "--phases=-1", so that a value may begin with a dash.
Arguments join_values(const Arguments& arguments, const po::options_description& options) {
  Arguments joined;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const auto* option = argument.starts_with("--") ? find_option(options, argument.substr(2)) : nullptr;
    if (option == nullptr || option->semantic()->max_tokens() == 0) {
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

std::string without_value(const std::string& token) { return token.substr(0, token.find('=')); }

}  // namespace

po::options_description make_options() {
  po::options_description options("Options", 110, 70);
  options.add_options()("help,h", po::bool_switch(), "print this text");
  return options;
}
void add_text(po::options_description& options, const char* name, const char* value, const char* meaning) {
  options.add_options()(name, po::value<std::string>()->value_name(value), meaning);
}
void add_flag(po::options_description& options, const char* name, const char* meaning) {
  options.add_options()(name, po::bool_switch(), meaning);
}

Options::Options(const std::string& command, const char* usage, const po::options_description& options,
                 const Arguments& arguments, std::size_t positional_limit) {
  po::options_description all;
  all.add(options).add_options()(kPositional, po::value<Arguments>());
  po::positional_options_description positional;
  positional.add(kPositional, -1);
  const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  try {
    po::store(
        po::command_line_parser(join_values(arguments, options)).options(all).positional(positional).style(style).run(),
        values_);
    po::notify(values_);
  } catch (const po::unknown_option& error) {
    Arguments names;
    for (const auto& option : options.options()) {
      names.push_back("--" + option->long_name());
    }
    const std::string name = without_value(error.get_option_name());
    throw_input_error("unknown option {}{}; `uvmtrace {} --help` lists all", name,
                      uvmsim::policy::suggestion(name, names), command);
  } catch (const po::multiple_occurrences& error) {
    throw_input_error("option {} is given twice", error.get_option_name());
  } catch (const po::invalid_command_line_syntax& error) {
    const bool extra = error.kind() == po::invalid_syntax::extra_parameter;
    throw_input_error("option {} {}", without_value(error.get_option_name()),
                      extra ? "takes no value" : "needs a value");
  } catch (const po::error& error) {
    throw_input_error("{}; `uvmtrace {} --help` lists all options", error.what(), command);
  }
  if (values_.count(kPositional) != 0) {
    positional_ = values_[kPositional].as<Arguments>();
  }
  if (flag("help")) {
    std::ostringstream listing;
    listing << options;
    fmt::print("{}\n{}", usage, listing.str());
    help_ = true;
    return;
  }
  if (positional_.size() > positional_limit) {
    throw_input_error("unexpected argument '{}'; `uvmtrace {} --help` says what it takes",
                      positional_[positional_limit], command);
  }
}

std::string Options::text(const char* name) const {
  return given(name) ? values_[name].as<std::string>() : std::string();
}

std::uint64_t Options::number(const char* name, std::uint64_t otherwise, std::uint64_t min, std::uint64_t max) const {
  if (!given(name)) {
    return otherwise;
  }
  const std::string value = text(name);
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  if (error != std::errc() || end != value.data() + value.size() || out < min || out > max) {
    throw_input_error("--{}: '{}' will not do; allowed: a number from {} to {}", name, value, min, max);
  }
  return out;
}

}  // namespace uvmtrace
