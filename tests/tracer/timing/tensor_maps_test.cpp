// SPDX-License-Identifier: Apache-2.0
// Tensor maps among the parameters of launches.
#include <gtest/gtest.h>

#include "expect_log.h"
#include "play.h"
#include "tests/tracer/maps/bytes.h"
#include "tests/tracer/maps/cubin_file.h"
#include "tests/tracer/maps/encoder.h"
#include "tests/tracer/maps/known_code.h"

namespace timing_tensor_maps {
namespace {

using nlohmann::json;
using uvmtrace::MapArguments;
using uvmtrace::MapBytes;

constexpr std::uint64_t kIn = 0x7f0000000000, kOut = 0x7f0000800000, kBytes = 1 << 21;
constexpr std::size_t kFirst = 112, kSecond = 240;  // offsets of the maps, from the kernel's source

MapArguments matrix(std::uint64_t va) {
  MapArguments out;
  out.type = 9;  // bf16
  out.rank = 3;
  out.va = va;
  out.dims = {1024, 1024, 1};
  out.strides = {2048, 0};
  out.box = {64, 32, 1};
  out.swizzle = 3;
  return out;
}

// Returns a map as cuBLAS leaves it: with a number in a stride beyond the rank, and with a bit that the driver does not
// set.
MapBytes of_library(std::uint64_t va) {
  MapBytes out = uvmtrace::maps_test::Encoder{}.whole(matrix(va));
  out[8] |= 2;
  out[23] = 0x10;
  return out;
}

// Returns a launch of a kernel that loads by one map and stores by another, with all its parameters in one buffer.
std::string launch(const MapBytes& in, const MapBytes& out) {
  std::vector<unsigned char> buffer(kSecond + out.size());
  std::copy(in.begin(), in.end(), buffer.begin() + kFirst);
  std::copy(out.begin(), out.end(), buffer.begin() + kSecond);
  std::vector<std::uint64_t> words(buffer.size() / 8);
  std::memcpy(words.data(), buffer.data(), buffer.size());
  return json({{"call", "cuLaunchKernel"},
               {"name", "copy_tile"},
               {"function", 5},
               {"as_extra", true},
               {"params", json::array({words})}})
             .dump() +
         "\n";
}

std::string loaded_module() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const auto& known : uvmtrace::maps_test::kKnownCode) {
    if (std::string(known.kernel) != "map_copy_2d") continue;
    for (const char byte : uvmtrace::maps_test::file_of(uvmtrace::maps_test::bytes_of(known.code), "copy_tile")) {
      hex += kDigits[static_cast<unsigned char>(byte) >> 4];
      hex += kDigits[byte & 15];
    }
  }
  return json({{"do", "module"}, {"file", hex}}).dump() + "\n";
}

std::string allocated() {
  std::string out = kContext;
  for (const std::uint64_t va : {kIn, kOut}) {
    out += json({{"call", "cuMemAlloc_v2"}, {"va", va}, {"bytes", kBytes}}).dump() + "\n";
  }
  return out;
}

json expected_map(std::size_t offset, std::uint64_t va) {
  return json::array({offset, va, 16, 0, {1024, 1024, 1}, {2048, 0}, {64, 32, 1}});
}

TEST(TensorMaps, MapsOfALibraryAreReadFromTheLaunch) {
  const Played played =
      play(allocated() + loaded_module() + launch(of_library(kIn), of_library(kOut)) + launch({}, of_library(kOut)));
  expect_whole(played);
  ASSERT_EQ(played.of("tensor_copies").size(), 1u);
  EXPECT_EQ(played.of("tensor_copies")[0].at("copies"), json::parse("[[1,1,0,1,[112]],[2,1,0,1,[240]]]"));
  ASSERT_EQ(played.of("tensor_maps").size(), 1u);
  EXPECT_GE(played.of("tensor_maps")[0].at("verified").get<int>(), 300);
  const auto launches = played.of("launch");
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].at("maps"), json::array({expected_map(kFirst, kIn), expected_map(kSecond, kOut)}));
  EXPECT_EQ(launches[1].at("maps"), json::array({expected_map(kSecond, kOut)}));
}

// A map whose address is not allocated, or that reaches beyond its allocation, does not count as a map.
TEST(TensorMaps, OtherMemoryIsNoMap) {
  const Played played =
      play(allocated() + loaded_module() + launch(of_library(kIn + 4 * kBytes - 4096), of_library(kOut + 16)));
  expect_whole(played);
  EXPECT_FALSE(played.of("launch")[0].contains("maps"));
}

TEST(TensorMaps, KernelsWithoutTensorCopiesAreLeftAlone) {
  const Played played = play(allocated() + launch(of_library(kIn), of_library(kOut)));
  expect_whole(played);
  EXPECT_FALSE(played.of("launch")[0].contains("maps"));
  EXPECT_TRUE(played.of("tensor_maps").empty());
}

TEST(TensorMaps, ADriverThatIsNotUnderstoodIsSaid) {
  PlayOptions options;
  options.environment["FAKE_CUDA_NO_MAPS"] = "1";
  const Played played = play(allocated() + loaded_module() + launch(of_library(kIn), of_library(kOut)), options);
  EXPECT_EQ(played.exit_status, 7);  // the player's own exit status
  ASSERT_EQ(played.of("tensor_maps").size(), 1u);
  EXPECT_EQ(played.of("tensor_maps")[0].at("verified"), 0);
  EXPECT_NE(played.of("tensor_maps")[0].at("why").get<std::string>().find("refuses"), std::string::npos);
  EXPECT_NE(played.standard_error.find("tensor maps of libraries cannot be read"), std::string::npos);
  EXPECT_FALSE(played.of("launch")[0].contains("maps"));
}

}  // namespace
}  // namespace timing_tensor_maps
