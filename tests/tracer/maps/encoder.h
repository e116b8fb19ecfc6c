// SPDX-License-Identifier: Apache-2.0
// Encodes tensor maps as a driver does, with the fields at the places of NVIDIA's driver 580; a test compares its maps
// with that driver's in stored_maps.h. Tests derive encoders of other drivers from it.
#pragma once

#include <cstdint>
#include <cstring>

#include "tracer/maps/map_layout.h"

namespace uvmtrace::maps_test {

struct Encoder {
  MapBytes whole(const MapArguments& a) const {
    static constexpr std::uint32_t kTypes[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 0x207, 0x208};
    MapBytes out{};
    const auto put = [&](std::size_t at, const auto& value) { std::memcpy(out.data() + at, &value, sizeof value); };
    put(0, a.va);
    put(8, (a.im2col ? 1U : 0U) | (a.rank - 1) << 4 | kTypes[a.type] << 7 | a.interleave << 11 | a.swizzle << 13 |
               a.fill << 15 | a.l2_promotion << 17);
    std::uint32_t high = 0, element_strides = 0;
    for (std::uint32_t d = 0; d < a.rank; ++d) {
      put(32 + 4 * d, static_cast<std::uint32_t>(a.dims[d] - 1));
      element_strides |= (a.element_strides[d] - 1) << (3 * d);
      if (d == 0) continue;
      put(8 + 4 * d, static_cast<std::uint32_t>(a.strides[d - 1] >> 4));
      high |= static_cast<std::uint32_t>(a.strides[d - 1] >> 36) << (4 * (d - 1));
    }
    put(28, high);
    put(52, static_cast<std::uint16_t>(element_strides));
    for (std::uint32_t d = 0; d < (a.im2col ? 1 : a.rank); ++d) out[55 + d] = static_cast<unsigned char>(a.box[d] - 1);
    if (a.im2col) {
      const std::uint32_t bits = a.rank == 3 ? 16 : a.rank == 4 ? 8 : 5;
      std::uint32_t lower = 0, upper = 0;
      for (std::uint32_t d = 0; d < a.rank - 2; ++d) {
        lower |= (static_cast<std::uint32_t>(a.lower[d]) & ((1U << bits) - 1)) << (bits * d);
        upper |= (static_cast<std::uint32_t>(a.upper[d]) & ((1U << bits) - 1)) << (bits * d);
      }
      put(56, static_cast<std::uint16_t>(lower));
      put(58, static_cast<std::uint16_t>(upper));
      put(60, static_cast<std::uint16_t>(a.pixels - 1));
    }
    return out;
  }

  // Refuses the arguments that CUDA refuses, as far as the learner depends on it.
  bool operator()(const MapArguments& a, MapBytes& out) const {
    if (a.rank < (a.im2col ? 3U : 1U) || a.rank > 5 || a.type > 12 || a.va % 16 != 0) return false;
    out = whole(a);
    return true;
  }
};

}  // namespace uvmtrace::maps_test
