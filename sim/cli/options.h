// SPDX-License-Identifier: Apache-2.0
// The command line, parsed so that every mistake is one line that names the option.
#pragma once

#include <boost/program_options.hpp>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace uvmsim::cli {

// Parses the arguments of `command`, say "uvmsim run". At most `positional_limit` arguments may be no options; they are
// stored under "argument". Declare values as std::string, std::vector<std::string> or bool_switch and check them with
// values.h, whose messages say what is allowed. Throws InputError: unknown option (with the nearest known one), value
// missing or not wanted, option given twice, argument too many.
boost::program_options::variables_map parse_options(const std::string& command,
                                                    const std::vector<std::string>& arguments,
                                                    const boost::program_options::options_description& options,
                                                    std::size_t positional_limit);

// The option table that `call` hands to parse_options(), which ends the call.
boost::program_options::options_description options_of(const std::function<void()>& call);

// The arguments that are no options, in order.
std::vector<std::string> positional_arguments(const boost::program_options::variables_map& values);

// The text given for an option; nothing when it was not given.
std::optional<std::string> text_of(const boost::program_options::variables_map& values, const char* name);

}  // namespace uvmsim::cli
