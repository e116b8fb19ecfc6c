// SPDX-License-Identifier: Apache-2.0
// The positions of a tensor map's fields in its bytes, which CUDA does not document. They are learned from maps that
// the driver encodes for known arguments.
//
// The first 64 bytes contain all fields: libraries that encode maps themselves pass no more. Each bit of an argument is
// flipped in turn, and the bit of the map that flips with it is noted; kinds (rank, element type, im2col, interleaving)
// are noted by the bits in which maps of different kinds differ. Then maps of other arguments are decoded and compared.
// If the driver does anything other than put each bit at one position, there is no layout, and nothing is guessed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tracer/maps/tensor_map.h"

namespace uvmtrace {

inline constexpr std::size_t kMapBytes = 64;
using MapBytes = std::array<unsigned char, kMapBytes>;

// The arguments of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col; enumerations are numbered as in cuda.h.
struct MapArguments {
  bool im2col = false;
  std::uint32_t type = 0;
  std::uint32_t rank = 1;
  std::uint64_t va = 0;
  std::array<std::uint64_t, kMaxMapRank> dims{};
  std::array<std::uint64_t, kMaxMapRank - 1> strides{};
  std::array<std::uint32_t, kMaxMapRank> box{};  // for im2col only box[0], the channels
  std::array<std::uint32_t, kMaxMapRank> element_strides{1, 1, 1, 1, 1};
  std::array<std::int32_t, kMaxMapRank - 2> lower{}, upper{};  // im2col: corners of the box of pixels
  std::uint32_t pixels = 1;                                    // im2col
  std::uint32_t interleave = 0, swizzle = 0, l2_promotion = 0, fill = 0;
};

inline constexpr std::uint32_t kMapTypes = 16;
// Returns the bits of an element of the type in memory; 0 for a type that this program does not know.
std::uint32_t element_bits(std::uint32_t type);

// Returns the map that the arguments describe; nothing for interleaved maps, whose extents this program does not know.
std::optional<TensorMap> map_of(const MapArguments& arguments);

// Writes the first bytes of the driver's map; returns false if the driver refuses the arguments.
using MapEncoder = std::function<bool(const MapArguments&, MapBytes&)>;

class MapLayout {
 public:
  // Returns nothing, and sets `why`, if the encoder cannot be understood. `verified` is the number of maps of the
  // second set that were decoded correctly.
  static std::optional<MapLayout> learn(const MapEncoder& encode, std::string& why);
  std::uint32_t verified() const { return verified_; }

  // Returns nothing if these bytes are not a map, or an interleaved one. A returned map passes is_possible().
  std::optional<TensorMap> decode(std::span<const unsigned char, kMapBytes> bytes) const;

 private:
  using Place = std::uint16_t;  // bit of the map
  template <std::size_t kBits>
  using Field = std::array<Place, kBits>;  // position of each bit, the lowest first
  // A kind: its bits, and their content for each value; nothing for values that the driver refused.
  struct Kind {
    MapBytes mask{};
    std::vector<std::optional<MapBytes>> codes;
    std::optional<std::uint32_t> of(std::span<const unsigned char, kMapBytes> bytes) const;
  };
  class Learner;

  static constexpr std::size_t kAddressBits = 44;  // from bit 4 of the address on
  Field<kAddressBits> address_{};
  std::array<Field<32>, kMaxMapRank> dims_{};         // stored minus one
  std::array<Field<36>, kMaxMapRank - 1> strides_{};  // stored in units of 16 bytes
  // Stored minus one. The lowest bit of dimension 0 is omitted: a row of a box is a multiple of 16 bytes, so that bit
  // is 1.
  Field<7> box0_{};
  std::array<Field<8>, kMaxMapRank> box_{};
  Kind rank_, type_, im2col_, interleave_;
  MapBytes numbers_{};  // bits of all fields above
  std::uint32_t verified_ = 0;
};

}  // namespace uvmtrace
