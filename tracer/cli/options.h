// SPDX-License-Identifier: Apache-2.0
// Command lines of `uvmtrace`, parsed so that every mistake is one line that names the option.
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace uvmtrace {

using Arguments = std::vector<std::string>;

// A new list with --help in it.
boost::program_options::options_description make_options();
// Adds `--name VALUE`, text for the caller to check.
void add_text(boost::program_options::options_description& options, const char* name, const char* value,
              const char* meaning);
void add_flag(boost::program_options::options_description& options, const char* name, const char* meaning);

class Options {
 public:
  // At most `positional_limit` arguments may be no options. Throws uvmsim::InputError: unknown option (with the
  // nearest), value missing or not wanted, option given twice, argument too many. Prints usage and options for --help.
  Options(const std::string& command, const char* usage, const boost::program_options::options_description& options,
          const Arguments& arguments, std::size_t positional_limit);

  bool help() const { return help_; }  // was printed: nothing else is to be done
  bool flag(const char* name) const { return values_[name].as<bool>(); }
  bool given(const char* name) const { return values_.count(name) != 0; }
  // Empty when not given.
  std::string text(const char* name) const;
  std::uint64_t number(const char* name, std::uint64_t otherwise, std::uint64_t min, std::uint64_t max) const;
  const Arguments& positional() const { return positional_; }

 private:
  boost::program_options::variables_map values_;
  Arguments positional_;
  bool help_ = false;
};

}  // namespace uvmtrace
