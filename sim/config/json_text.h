// JSON text from files of other programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "sim/common/json_depth.h"

namespace uvmsim::config {

// A discarded value for what is not JSON or is nested deeper than kMaxJsonDepth.
template <class Json>
Json parse_or_discard(std::string_view text) {
  return nested_too_deep(text) ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
}

}  // namespace uvmsim::config
