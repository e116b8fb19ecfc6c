#include "sim/trace/zipf.h"

#include <algorithm>
#include <array>
#include <bit>

namespace uvmsim::trace {

namespace {

// Fixed point with 30 fraction bits: products of numbers below 2 fit 62 bits.
constexpr unsigned kFraction = 30;
constexpr std::uint64_t kOne = std::uint64_t{1} << kFraction;

// log2 of an integer >= 1.
std::uint64_t log2_fixed(std::uint64_t value) {
  const auto whole = static_cast<unsigned>(std::bit_width(value) - 1);
  std::uint64_t mantissa = whole >= kFraction ? value >> (whole - kFraction) : value << (kFraction - whole);
  std::uint64_t log = 0;
  for (unsigned bit = 0; bit < kFraction; ++bit) {
    mantissa = (mantissa * mantissa) >> kFraction;  // squaring doubles the logarithm
    log <<= 1;
    if (mantissa >= 2 * kOne) {
      mantissa >>= 1;
      log |= 1;
    }
  }
  return (static_cast<std::uint64_t>(whole) << kFraction) | log;
}

std::uint64_t integer_sqrt(std::uint64_t value) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit != 0; bit >>= 1) {
    if ((root | bit) * (root | bit) <= value) {
      root |= bit;
    }
  }
  return root;
}

// 2^(-1/2), 2^(-1/4), 2^(-1/8), ...
std::array<std::uint64_t, kFraction> half_powers() {
  std::array<std::uint64_t, kFraction> out{};
  std::uint64_t power = kOne / 2;
  for (auto& entry : out) {
    power = integer_sqrt(power << kFraction);
    entry = power;
  }
  return out;
}

// 2^-exponent
std::uint64_t exp2_negative(std::uint64_t exponent, const std::array<std::uint64_t, kFraction>& powers) {
  std::uint64_t result = kOne;
  for (unsigned i = 0; i < kFraction; ++i) {
    if ((exponent >> (kFraction - 1 - i)) & 1) {
      result = (result * powers[i]) >> kFraction;
    }
  }
  const std::uint64_t whole = exponent >> kFraction;
  return whole > kFraction ? 0 : result >> whole;
}

}  // namespace

ZipfDistribution::ZipfDistribution(std::uint64_t count, std::uint32_t exponent_thousandths) {
  const auto powers = half_powers();
  cumulative_.reserve(count);
  std::uint64_t sum = 0;
  for (std::uint64_t rank = 1; rank <= count; ++rank) {
    const std::uint64_t exponent = log2_fixed(rank) * exponent_thousandths / 1000;
    sum += std::max<std::uint64_t>(1, exp2_negative(exponent, powers));
    cumulative_.push_back(sum);
  }
}

std::uint64_t ZipfDistribution::draw(Random& random) const {
  const std::uint64_t point = random.below(cumulative_.back());
  return static_cast<std::uint64_t>(std::upper_bound(cumulative_.begin(), cumulative_.end(), point) -
                                    cumulative_.begin());
}

std::uint64_t ZipfDistribution::weight(std::uint64_t rank) const {
  return cumulative_[rank] - (rank == 0 ? 0 : cumulative_[rank - 1]);
}

}  // namespace uvmsim::trace
