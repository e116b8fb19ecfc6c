// "Did you mean": the closest of a set of names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace uvmsim::config {

// The candidate with the fewest single-character edits to `name` (a swap of neighbours counts once, and
// so does a name left unfinished); of equals the one with the longer common beginning, then the first. Empty when there
// are no candidates.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

// "the nearest known key is 'batch_ns'" where one may have been meant; else `otherwise`.
std::string nearest_key_hint(std::string_view name, const std::vector<std::string>& candidates, std::string otherwise);

}  // namespace uvmsim::config
