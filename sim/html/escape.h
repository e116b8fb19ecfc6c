// SPDX-License-Identifier: Apache-2.0
// Escapes texts from files for a page, so that a browser shows them and never interprets them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace uvmsim::html {

// Text between tags or in a quoted attribute. Control characters become '?', bytes that are not UTF-8 become U+FFFD.
std::string escaped(std::string_view text);

// Formats JSON for the inside of <script type="application/json">: ASCII only, without '<', '>' and '&'.
std::string embedded(const nlohmann::ordered_json& json);

}  // namespace uvmsim::html
