// SPDX-License-Identifier: Apache-2.0
// The layout that is learned from a driver, and the maps that it decodes.
#include "tracer/maps/map_layout.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/tracer/maps/bytes.h"
#include "tests/tracer/maps/encoder.h"
#include "tests/tracer/maps/stored_maps.h"

namespace uvmtrace::maps_test {
namespace {

MapBytes map_bytes(const char* text) {
  MapBytes out{};
  const std::vector<unsigned char> bytes = bytes_of(text);
  std::copy_n(bytes.begin(), std::min(bytes.size(), out.size()), out.begin());
  return out;
}

MapLayout learned() {
  std::string why;
  const std::optional<MapLayout> layout = MapLayout::learn(Encoder{}, why);
  EXPECT_EQ(why, "");
  return layout.value();
}

std::string refusal(const MapEncoder& encode) {
  std::string why;
  EXPECT_FALSE(MapLayout::learn(encode, why).has_value());
  return why;
}

TEST(MapLayout, TheEncoderDoesWhatTheDriverDid) {
  for (const StoredMap& stored : kStoredMaps) {
    EXPECT_EQ(Encoder{}.whole(stored.arguments), map_bytes(stored.bytes)) << stored.bytes;
  }
}

TEST(MapLayout, StoredMapsAreDecodedToTheirArguments) {
  const MapLayout layout = learned();
  std::size_t known = 0;
  for (const StoredMap& stored : kStoredMaps) {
    const std::optional<TensorMap> map = layout.decode(map_bytes(stored.bytes));
    EXPECT_EQ(map, map_of(stored.arguments)) << stored.bytes;
    EXPECT_EQ(map.has_value(), stored.arguments.interleave == 0) << stored.bytes;
    known += map.has_value() ? 1 : 0;
  }
  EXPECT_GE(known, 40u);
  EXPECT_GE(layout.verified(), 300u);
}

// cuBLAS passes 64 bytes, sets a bit that the driver does not set, and leaves numbers in strides beyond the rank. This
// map describes a 1024 x 3072 matrix of bf16 and was recorded on an H100.
TEST(MapLayout, MapsOfALibrary) {
  const std::optional<TensorMap> map =
      learned().decode(map_bytes("00000075eb7f00002265040080010000000000000000001000000000000000"
                                 "00ff0b0000ff030000000000000000000000000000"
                                 "0000003f1f00000000000000"));
  ASSERT_TRUE(map.has_value());
  EXPECT_EQ(map->va, 0x7feb75000000u);
  EXPECT_EQ(map->element_bits, 16u);
  EXPECT_EQ(map->rank, 3u);
  EXPECT_EQ(map->dims, (std::array<std::uint64_t, 5>{3072, 1024, 1, 0, 0}));
  EXPECT_EQ(map->strides[0], 6144u);
  EXPECT_EQ(map->box, (std::array<std::uint32_t, 5>{64, 32, 1, 0, 0}));
  EXPECT_EQ(span_bytes(*map), 6291456u);
}

TEST(MapLayout, OtherBytesAreNoMaps) {
  const MapLayout layout = learned();
  MapBytes zero{};
  EXPECT_FALSE(layout.decode(zero).has_value());
  MapBytes pointer{};  // a pointer and zeros, which libraries leave in unused maps
  pointer[3] = 0x75, pointer[4] = 0xeb, pointer[5] = 0x7f;
  EXPECT_FALSE(layout.decode(pointer).has_value());
  MapBytes ones;
  ones.fill(0xff);
  EXPECT_FALSE(layout.decode(ones).has_value());
}

// A field at another place is learned as well.
TEST(MapLayout, AnotherDriver) {
  const MapEncoder other = [](const MapArguments& a, MapBytes& out) {
    if (!Encoder{}(a, out)) return false;
    std::rotate(out.begin(), out.begin() + 24, out.end());
    return true;
  };
  std::string why;
  const std::optional<MapLayout> layout = MapLayout::learn(other, why);
  ASSERT_TRUE(layout.has_value()) << why;
  MapBytes bytes{};
  ASSERT_TRUE(other(kStoredMaps[2].arguments, bytes));
  EXPECT_EQ(layout->decode(bytes), map_of(kStoredMaps[2].arguments));
}

TEST(MapLayout, DriversThatAreNotUnderstoodAreRefused) {
  EXPECT_NE(refusal([](const MapArguments&, MapBytes&) { return false; }).find("refuses"), std::string::npos);
  // This encoder changes several bits of the map for one bit of an address.
  EXPECT_NE(refusal([](const MapArguments& a, MapBytes& out) {
              const bool done = Encoder{}(a, out);
              out[63] = out[2];
              return done;
            }).find("the address changes 2"),
            std::string::npos);
  // This encoder stores two fields at one place.
  EXPECT_NE(refusal([](const MapArguments& a, MapBytes& out) {
              MapArguments changed = a;
              changed.dims[1] ^= (a.dims[0] - 1) & 0xff;
              changed.dims[0] = 1;
              return Encoder{}(changed, out);
            }),
            "");
  // This encoder stores all types in the same way.
  EXPECT_NE(refusal([](const MapArguments& a, MapBytes& out) {
              MapArguments changed = a;
              changed.type = 0;
              return Encoder{}(changed, out);
            }).find("element type"),
            std::string::npos);
}

// A layout that is learned bit by bit may still be wrong: this encoder stores large dimensions differently.
TEST(MapLayout, DisagreeingMapsOfTheSecondSetAreRefused) {
  const std::string why = refusal([](const MapArguments& a, MapBytes& out) {
    MapArguments changed = a;
    if (a.rank == 2 && a.dims[0] > 1000 && a.dims[1] > 100) changed.dims[1] /= 2;
    return Encoder{}(changed, out);
  });
  EXPECT_NE(why.find("is decoded to something else"), std::string::npos) << why;
}

TEST(MapLayout, TooFewMapsOfTheSecondSetAreRefused) {
  // This encoder stores the address elsewhere in the maps to learn from.
  const std::string why = refusal([](const MapArguments& a, MapBytes& out) {
    return (a.va < 0x7f0000000000 || a.va >= 0x800000000000) && Encoder{}(a, out);
  });
  EXPECT_NE(why.find("only 0 maps"), std::string::npos) << why;
  // This encoder supports no im2col beyond the maps to learn from.
  const std::string none = refusal([](const MapArguments& a, MapBytes& out) {
    return (!a.im2col || a.dims[0] * a.dims[1] == 1) && Encoder{}(a, out);
  });
  EXPECT_NE(none.find("of them im2col"), std::string::npos) << none;
}

}  // namespace
}  // namespace uvmtrace::maps_test
