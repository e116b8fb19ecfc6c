// SPDX-License-Identifier: Apache-2.0
// Deterministic random numbers for policies and generators: the same seed gives the same sequence on every machine.
#pragma once

#include <cstdint>

namespace uvmsim {

// A type for products that do not fit 64 bits. g++ and clang support it; __extension__ marks that it is not ISO C++.
__extension__ using WideUnsigned = unsigned __int128;

// The finaliser of MurmurHash3 (A. Appleby, public domain): a bijection in which every bit depends on all.
constexpr std::uint64_t mixed_bits(std::uint64_t x) {
  x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
  x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
  return x ^ x >> 33;
}

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound); bound > 0. Slightly biased for bounds near 2^64, which no caller uses.
  constexpr std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<WideUnsigned>(next()) * bound) >> 64);
  }

 private:
  std::uint64_t state_;
};

}  // namespace uvmsim
