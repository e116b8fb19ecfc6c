// SPDX-License-Identifier: Apache-2.0
// Options of `compare` and `check` that are lists, and --tolerance.
#pragma once

#include <algorithm>
#include <boost/program_options.hpp>
#include <string>
#include <vector>

#include "sim/common/error.h"
#include "sim/compare/tolerance.h"

namespace uvmsim::cli {

inline std::vector<std::string> texts_of(const boost::program_options::variables_map& values, const char* name) {
  if (values.count(name) == 0) return {};
  return values[name].as<std::vector<std::string>>();
}

// "a,b" and "c" -> a, b, c. Throws InputError for nothing between two commas.
inline std::vector<std::string> listed_texts(const boost::program_options::variables_map& values, const char* name) {
  std::vector<std::string> items;
  for (const std::string& text : texts_of(values, name)) {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      if (end == begin) throw_input_error("--{}: '{}' names nothing between its commas", name, text);
      items.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return items;
}

// "NAME=TOLERANCE", or "TOLERANCE" for all that no NAME matches. Throws InputError.
inline void add_tolerances(compare::Tolerances& tolerances, const std::vector<std::string>& texts) {
  std::vector<std::string> general;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      general.push_back(text);
    } else {
      tolerances.add(text.substr(0, equals), text.substr(equals + 1), "--tolerance");
    }
  }
  for (const std::string& text : general) tolerances.add("*", text, "--tolerance");
}

}  // namespace uvmsim::cli
