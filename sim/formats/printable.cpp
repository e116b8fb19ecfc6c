// SPDX-License-Identifier: Apache-2.0
#include "sim/formats/printable.h"

#include "sim/common/plain_text.h"

namespace uvmsim {

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_character_bytes(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  const std::size_t end = is_utf8(text) ? utf8_cut(text, kLongest) : std::min(text.size(), kLongest);
  const std::string result = plain_text(text.substr(0, end));
  return end < text.size() ? result + "..." : result;
}

}  // namespace uvmsim
