#include "sim/trace/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace uvmsim::trace {

std::string join_names(std::span<const std::string_view> names) { return fmt::format("{}", fmt::join(names, ", ")); }

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> allowed) {
  if (word.size() > 64) {
    return {};
  }
  std::string_view best;
  std::size_t best_distance = 1 + word.size() / 2;  // further away is a different word
  for (const auto name : allowed) {
    const bool inside =
        std::min(word.size(), name.size()) >= 3 && (name.find(word) != name.npos || word.find(name) != word.npos);
    const std::size_t distance = inside ? 1 : edit_distance(word, name);
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

std::string allowed_hint(std::string_view word, std::span<const std::string_view> allowed) {
  const auto nearest = nearest_name(word, allowed);
  return nearest.empty() ? fmt::format("; allowed: {}", join_names(allowed))
                         : fmt::format("; did you mean '{}'? allowed: {}", nearest, join_names(allowed));
}

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string out;
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte >= 0x7f ? '?' : c;
  }
  return text.size() > kLongest ? out + "..." : out;
}

bool is_utf8(std::string_view text) {
  const auto* byte = reinterpret_cast<const unsigned char*>(text.data());
  const auto* const end = byte + text.size();
  const auto is_tail = [end](const unsigned char* p, int count) {
    for (int i = 0; i < count; ++i, ++p) {
      if (p >= end || (*p & 0xc0) != 0x80) {
        return false;
      }
    }
    return true;
  };
  while (byte < end) {
    const unsigned char lead = *byte;
    int tail = 0;
    if (lead >= 0x80) {
      if (lead < 0xc2 || lead > 0xf4) {
        return false;
      }
      tail = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
      if (!is_tail(byte + 1, tail)) {
        return false;
      }
      const unsigned char second = byte[1];
      const bool overlong_or_surrogate = (lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                                         (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f);
      if (overlong_or_surrogate) {
        return false;
      }
    }
    byte += 1 + tail;
  }
  return true;
}

}  // namespace uvmsim::trace
