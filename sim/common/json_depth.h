// How deep JSON from elsewhere may be nested. Whoever walks, copies or frees a tree of values calls itself once a
// level, so that the depth is known before there is a tree.
#pragma once

#include <cstddef>
#include <string_view>

namespace uvmsim {

// The deepest file of ours, a result, has 8.
inline constexpr std::size_t kMaxJsonDepth = 64;

// Whether brackets outside of strings are ever more than kMaxJsonDepth deep; right for all text that is JSON.
constexpr bool nested_too_deep(std::string_view json) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxJsonDepth) return true;
    } else if ((c == ']' || c == '}') && depth != 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace uvmsim
