// SPDX-License-Identifier: Apache-2.0
#include "sim/formats/printable.h"

namespace uvmsim {

bool is_utf8(std::string_view text) {
  const auto* byte = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = byte + text.size();
  const auto is_tail = [end](const unsigned char* p, int count) {
    for (int i = 0; i < count; ++i, ++p) {
      if (p >= end || (*p & 0xc0) != 0x80) return false;
    }
    return true;
  };
  while (byte < end) {
    const unsigned char lead = *byte;
    int tail = 0;
    if (lead >= 0x80) {
      if (lead < 0xc2 || lead > 0xf4) return false;
      tail = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
      if (!is_tail(byte + 1, tail)) return false;
      const unsigned char second = byte[1];
      const bool overlong_or_surrogate = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                                         (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
      if (overlong_or_surrogate) return false;
    }
    byte += 1 + tail;
  }
  return true;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  const auto is_beyond_ascii = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  const auto is_tail = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  std::size_t end = std::min(text.size(), kLongest);
  const bool utf8 = is_utf8(text);
  while (utf8 && end < text.size() && is_tail(text[end])) --end;  // not within a character
  std::string result = one_line(std::string(text.substr(0, end)));
  if (!utf8) std::replace_if(result.begin(), result.end(), is_beyond_ascii, '?');
  return end < text.size() ? result + "..." : result;
}

}  // namespace uvmsim
