// SPDX-License-Identifier: Apache-2.0
#include "sim/html/escape.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sim/common/plain_text.h"
#include "sim/formats/fields.h"
#include "sim/formats/json.h"

namespace uvmsim::html {

using Json = nlohmann::ordered_json;

std::string escaped(std::string_view text) { return in_markup(plain_text(text)); }

std::string embedded(const Json& json) {
  std::string out;
  // These three characters occur only within strings.
  for (const char c : json.dump(-1, ' ', true, Json::error_handler_t::replace)) {
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace uvmsim::html
