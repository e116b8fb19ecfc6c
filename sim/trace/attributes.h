// SPDX-License-Identifier: Apache-2.0
// Attributes of a trace's header that affect a replay.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

#include "sim/trace/record.h"

namespace uvmsim::trace {

// The attribute with the number of images in the program's NCHW tensors.
inline constexpr std::string_view kImagesAttribute = "images";

// Returns its value; 0 if the header does not have it.
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
