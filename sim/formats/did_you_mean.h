// SPDX-License-Identifier: Apache-2.0
// "Did you mean": finds the name that is closest to a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace uvmsim {

// Returns the name with the fewest single-character edits to `typed` (swapping neighbours counts once, and so does a
// part of a name); of equals the one with the longer common beginning, then the first. Empty when none is near enough.
std::string_view nearest_name(std::string_view typed, const std::vector<std::string_view>& names);

// Returns " (did you mean 'threshold'?)", or "".
std::string did_you_mean_text(std::string_view nearest);

template <class Names>
std::string did_you_mean(std::string_view typed, const Names& names) {
  return did_you_mean_text(nearest_name(typed, {names.begin(), names.end()}));
}

// Returns the end of a message about a word that is not one of `names`: " (did you mean 'x'?); allowed: w, x, y".
std::string allowed_hint(std::string_view typed, const std::vector<std::string_view>& names);

template <class Names>
std::string allowed_hint(std::string_view typed, const Names& names) {
  return allowed_hint(typed, std::vector<std::string_view>(names.begin(), names.end()));
}

}  // namespace uvmsim
