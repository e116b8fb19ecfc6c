// SPDX-License-Identifier: Apache-2.0
// Attributes of a trace's header that mean something to a replay.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

#include "sim/trace/record.h"

namespace uvmsim::trace {

// How many images the program's NCHW tensors hold.
inline constexpr std::string_view kImagesAttribute = "images";

// Its value; 0: the header does not say.
inline std::uint64_t images_named(const Header& header) {
  for (const auto& [key, value] : header.attributes) {
    std::uint64_t images = 0;
    if (key == kImagesAttribute &&
        std::from_chars(value.data(), value.data() + value.size(), images).ec == std::errc{}) {
      return images;
    }
  }
  return 0;
}

}  // namespace uvmsim::trace
