// SPDX-License-Identifier: Apache-2.0
#include "sim/common/plain_text.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace uvmsim {
namespace {

constexpr std::size_t kLongestLine = 2000;

// Ranges of control characters, marks and embeddings of the writing direction, separators of lines and paragraphs,
// invisible characters, the byte order mark, and annotation anchors.
constexpr std::pair<std::uint32_t, std::uint32_t> kUnprintable[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c}, {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}};

std::uint32_t code_point(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(character[i])); };
  if (character.size() == 1) return byte(0);
  std::uint32_t code = byte(0) & (0x7fu >> character.size());
  for (std::size_t i = 1; i < character.size(); ++i) code = code << 6 | (byte(i) & 0x3f);
  return code;
}

bool is_printable(std::string_view character) {
  const std::uint32_t code = code_point(character);
  return std::ranges::none_of(kUnprintable,
                              [&](const auto& kind) { return code >= kind.first && code <= kind.second; });
}

}  // namespace

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

std::string plain_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_character_bytes(text, at);
    if (length != 0 && is_printable(text.substr(at, length))) {
      out += text.substr(at, length);
    } else {
      out += '?';
    }
    at += std::max<std::size_t>(length, 1);
  }
  return out;
}

std::string plain_line(std::string_view text) {
  if (text.size() <= kLongestLine) return plain_text(text);
  std::size_t end = kLongestLine - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return plain_text(text.substr(0, end)) + "...";
}

}  // namespace uvmsim
