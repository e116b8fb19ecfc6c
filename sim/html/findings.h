// SPDX-License-Identifier: Apache-2.0
// The page's summary in sentences. Each claim names the numbers that it follows from and their conditions; where the
// data are inconclusive, it says so.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "sim/html/document.h"

namespace uvmsim::html {

struct Finding {
  std::string heading;
  std::vector<std::string> sentences;  // one paragraph each

  template <class... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    sentences.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
};

std::vector<Finding> findings_of(const Document& document);

}  // namespace uvmsim::html
