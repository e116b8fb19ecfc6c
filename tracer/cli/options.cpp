// SPDX-License-Identifier: Apache-2.0
#include "tracer/cli/options.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "sim/cli/options.h"
#include "sim/common/error.h"

namespace uvmtrace {

namespace po = boost::program_options;
using uvmsim::throw_input_error;

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
                 const Arguments& arguments, std::size_t positional_limit)
    : values_(uvmsim::cli::parse_options("uvmtrace " + command, arguments, options, positional_limit)),
      positional_(uvmsim::cli::positional_arguments(values_)) {
  if (flag("help")) {
    std::ostringstream listing;
    listing << options;
    fmt::print("{}\n{}", usage, listing.str());
    help_ = true;
  }
}

std::string Options::text(const char* name) const {
  return given(name) ? values_[name].as<std::string>() : std::string();
}

std::uint64_t Options::number(const char* name, std::uint64_t otherwise, std::uint64_t min, std::uint64_t max) const {
  if (!given(name)) return otherwise;
  const std::string value = text(name);
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  if (error != std::errc() || end != value.data() + value.size() || out < min || out > max) {
    throw_input_error("--{}: '{}' will not do; allowed: a number from {} to {}", name, value, min, max);
  }
  return out;
}

}  // namespace uvmtrace
