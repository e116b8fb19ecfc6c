// SPDX-License-Identifier: Apache-2.0
// Converts hexadecimal text to bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace uvmtrace::maps_test {

inline std::vector<unsigned char> bytes_of(std::string_view text) {
  std::vector<unsigned char> out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    out.push_back(static_cast<unsigned char>(std::stoul(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

}  // namespace uvmtrace::maps_test
