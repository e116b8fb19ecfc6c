// SPDX-License-Identifier: Apache-2.0
// The entry of a list by its name.
#pragma once

#include <fmt/ranges.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/common/error.h"
#include "sim/formats/did_you_mean.h"

namespace uvmsim::recommend {

// `also`: a name that the caller understands beside those of the list; for the message. Throws InputError for an
// unknown name.
template <class Named>
const Named& find_named(std::span<const Named> list, std::string_view what, std::string_view name,
                        std::string_view also = {}) {
  std::vector<std::string> names;
  for (const Named& entry : list) {
    if (entry.name == name) return entry;
    names.emplace_back(entry.name);
  }
  const std::string suggestion = did_you_mean(std::string(name), names);
  if (!also.empty()) names.emplace(names.begin(), also);
  throw_input_error("unknown {} '{}'{}; allowed: {}", what, name, suggestion, fmt::join(names, ", "));
}

}  // namespace uvmsim::recommend
