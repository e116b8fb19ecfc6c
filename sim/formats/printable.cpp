// SPDX-License-Identifier: Apache-2.0
#include "sim/formats/printable.h"

namespace uvmsim {

std::size_t utf8_character_bytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong_or_surrogate = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                                     (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
  return overlong_or_surrogate ? 0 : length;
}

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
  const auto is_beyond_ascii = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  const bool utf8 = is_utf8(text);
  const std::size_t end = utf8 ? utf8_cut(text, kLongest) : std::min(text.size(), kLongest);
  std::string result = one_line(std::string(text.substr(0, end)));
  if (!utf8) std::ranges::replace_if(result, is_beyond_ascii, '?');
  return end < text.size() ? result + "..." : result;
}

}  // namespace uvmsim
