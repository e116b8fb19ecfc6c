// SPDX-License-Identifier: Apache-2.0
// What the verbs of `uvmsim trace` share: their options, parsed.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "sim/cli/commands.h"
#include "sim/cli/options.h"
#include "sim/cli/values.h"
#include "sim/common/error.h"
#include "sim/trace/writer.h"

namespace uvmsim::cli {

namespace po = boost::program_options;

inline po::value_semantic* text(const char* name) { return po::value<std::string>()->value_name(name); }

// The options of one verb, parsed.
class Values {
 public:
  Values(const std::string& verb, const char* usage, const po::options_description& options, const Arguments& arguments,
         std::size_t positional_limit)
      : verb_(verb), values_(parse_options("uvmsim trace " + verb, arguments, options, positional_limit)) {
    if (values_["help"].as<bool>()) {
      std::ostringstream listing;
      listing << options;
      fmt::print("{}\n{}", usage, listing.str());
      help_ = true;
    }
  }

  bool help() const { return help_; }
  bool flag(const char* name) const { return values_[name].as<bool>(); }
  bool given(const char* name) const { return values_.count(name) != 0; }
  std::string string(const char* name) const { return values_[name].as<std::string>(); }
  Arguments positional() const { return positional_arguments(values_); }
  std::string trace() const {
    const Arguments found = positional();
    if (found.empty()) throw_input_error("no trace given; `uvmsim trace {} --help` shows examples", verb_);
    return found.front();
  }
  std::string output() const {
    if (!given("output")) {
      throw_input_error("no output given: add -o FILE; `uvmsim trace {} --help` shows examples", verb_);
    }
    return string("output");
  }

 private:
  std::string verb_;
  po::variables_map values_;
  bool help_ = false;
};

inline po::options_description common_options() {
  po::options_description options("Options", 110, 70);
  options.add_options()("help,h", po::bool_switch(), "print this text");
  return options;
}
inline void add_partial(po::options_description& options) {
  options.add_options()("partial", po::bool_switch(), "of a file that is cut off or damaged, take what is whole");
}
inline void add_output(po::options_description& options, const char* meaning) {
  options.add_options()("output,o", text("FILE"), meaning);
}
inline void add_level(po::options_description& options) {
  options.add_options()("level", text("N"), "zstd compression level of .uvmt, 1 to 19, default 3");
}

inline trace::WriterOptions writer_options(const Values& values) {
  trace::WriterOptions options;
  if (values.given("level")) {
    const std::uint64_t level = parse_unsigned("--level", values.string("level"));
    if (level < 1 || level > 19) throw_input_error("--level: {} is no level; allowed: 1 to 19", level);
    options.compression_level = static_cast<int>(level);
  }
  return options;
}

// The verbs with files of their own. Arguments are those after the verb.
int trace_import(const Arguments& arguments);
int trace_export(const Arguments& arguments);
int trace_hint(const Arguments& arguments);
int trace_fields(const Arguments& arguments);

}  // namespace uvmsim::cli
