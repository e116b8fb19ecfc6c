// SPDX-License-Identifier: Apache-2.0
// Checks what machine code reveals about its tensor copies.
#include "tracer/maps/copy_code.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/tracer/maps/bytes.h"
#include "tests/tracer/maps/cubin_file.h"
#include "tests/tracer/maps/known_code.h"

namespace uvmtrace::maps_test {
namespace {

using Kind = TensorCopy::Kind;

std::vector<unsigned char> code_of(const std::string& kernel) {
  for (const KnownCode& known : kKnownCode) {
    if (kernel == known.kernel) return bytes_of(known.code);
  }
  ADD_FAILURE() << kernel;
  return {};
}

// The offsets of the parameters follow from the kernels' source: two maps of 128 bytes, at multiples of 64 of constant
// memory, where the parameters begin at 0x210.
constexpr std::uint32_t kFirst = 112, kSecond = 240;

TEST(CopyCode, KnownKernels) {
  const auto copy = [](Kind kind, std::vector<std::uint32_t> offsets, bool repeated = false) {
    return TensorCopy{kind, std::move(offsets), true, repeated};
  };
  const std::map<std::string, std::vector<TensorCopy>> expected = {
      {"map_copy_2d", {copy(Kind::kLoad, {kFirst}), copy(Kind::kStore, {kSecond})}},
      {"map_copy_5d", {copy(Kind::kLoad, {kFirst}), copy(Kind::kStore, {kSecond})}},
      {"map_sum_loop", {copy(Kind::kLoad, {kFirst}, true)}},
      {"map_im2col", {copy(Kind::kLoad, {kFirst}, true)}},
      {"map_multicast", {copy(Kind::kLoad, {kFirst})}},
      {"map_prefetch", {copy(Kind::kLoad, {kFirst})}},
      {"map_reduce", {copy(Kind::kReduce, {kFirst})}},
      {"map_choice", {copy(Kind::kLoad, {kFirst, kSecond})}},
  };
  EXPECT_EQ(expected.size(), std::size(kKnownCode));
  for (const auto& [kernel, copies] : expected) {
    const std::vector<unsigned char> code = code_of(kernel);
    EXPECT_TRUE(has_tensor_copies(code)) << kernel;
    EXPECT_EQ(tensor_copies(code), copies) << kernel;
  }
}

// On any bytes the search ends, and every instruction that it finds is one of a copy.
TEST(CopyCode, DamagedCode) {
  std::uint64_t state = 1;
  const auto below = [&](std::uint64_t limit) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return (state >> 33) % limit;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<unsigned char> code = code_of(kKnownCode[below(std::size(kKnownCode))].kernel);
    for (std::uint64_t n = 1 + below(40); n > 0; --n) code[below(code.size())] = static_cast<unsigned char>(below(256));
    code.erase(code.end() - static_cast<std::ptrdiff_t>(below(32)), code.end());
    const std::vector<TensorCopy> copies = tensor_copies(code);
    EXPECT_EQ(has_tensor_copies(code), !copies.empty());
  }
  EXPECT_TRUE(tensor_copies({}).empty());
}

std::map<std::string, std::size_t> functions(const std::string& file, int& architecture) {
  std::map<std::string, std::size_t> out;
  architecture = for_each_function({reinterpret_cast<const unsigned char*>(file.data()), file.size()},
                                   [&](std::string_view kernel, Code code) { out[std::string(kernel)] = code.size(); });
  return out;
}

TEST(Cubin, Functions) {
  const std::vector<unsigned char> code = code_of("map_reduce");
  const std::string file = file_of(code, "map_reduce");
  int architecture = 0;
  EXPECT_EQ(functions(file, architecture), (std::map<std::string, std::size_t>{{"map_reduce", code.size()}}));
  EXPECT_EQ(architecture, 90);
  EXPECT_TRUE(functions("no file", architecture).empty());
  EXPECT_EQ(architecture, 0);
  for (std::size_t bytes = 0; bytes < file.size(); bytes += 7) {  // cut off: fewer functions, or none
    EXPECT_LE(functions(file.substr(0, bytes), architecture).size(), 1u);
  }
}

}  // namespace
}  // namespace uvmtrace::maps_test
