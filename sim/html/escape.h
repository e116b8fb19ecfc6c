// SPDX-License-Identifier: Apache-2.0
// Texts from files as parts of a page: they are shown, and never mean anything to a browser.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace uvmsim::html {

// Text between tags or in a quoted attribute. Control characters become '?', bytes that are no UTF-8 U+FFFD.
std::string escaped(std::string_view text);

// JSON for the inside of <script type="application/json">: ASCII only, without '<', '>' and '&'.
std::string embedded(const nlohmann::ordered_json& json);

}  // namespace uvmsim::html
