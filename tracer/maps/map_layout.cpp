// SPDX-License-Identifier: Apache-2.0
#include "tracer/maps/map_layout.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace uvmtrace {

namespace {

constexpr std::uint32_t kFloat64 = 8;
constexpr std::uint32_t kPacked4 = 13;  // CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B
constexpr std::uint32_t kVerifiedMaps = 400;
constexpr std::uint32_t kFewestVerified = 100;

MapBytes operator^(const MapBytes& a, const MapBytes& b) {
  MapBytes out{};
  for (std::size_t i = 0; i < kMapBytes; ++i) out[i] = static_cast<unsigned char>(a[i] ^ b[i]);
  return out;
}

MapBytes without(const MapBytes& a, const MapBytes& b) {
  MapBytes out{};
  for (std::size_t i = 0; i < kMapBytes; ++i) out[i] = static_cast<unsigned char>(a[i] & ~b[i]);
  return out;
}

void include(MapBytes& all, const MapBytes& more) {
  for (std::size_t i = 0; i < kMapBytes; ++i) all[i] = static_cast<unsigned char>(all[i] | more[i]);
}

bool is_zero(const MapBytes& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](unsigned char byte) { return byte == 0; });
}

bool bit_of(std::span<const unsigned char, kMapBytes> bytes, std::uint16_t place) {
  return (bytes[place / 8] >> (place % 8) & 1) != 0;
}

template <class Field>
std::uint64_t number_of(std::span<const unsigned char, kMapBytes> bytes, const Field& field) {
  std::uint64_t value = 0;
  for (std::size_t bit = 0; bit < field.size(); ++bit) {
    value |= static_cast<std::uint64_t>(bit_of(bytes, field[bit])) << bit;
  }
  return value;
}

// SplitMix64, so that the second set of maps is the same everywhere.
class Numbers {
 public:
  std::uint64_t below(std::uint64_t limit) {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % limit;
  }

 private:
  std::uint64_t state_ = 1;
};

MapArguments random_arguments(Numbers& numbers, std::uint32_t number) {
  MapArguments out;
  out.im2col = number % 4 == 3;
  out.rank = static_cast<std::uint32_t>(out.im2col ? 3 + numbers.below(3) : 1 + numbers.below(5));
  out.type = static_cast<std::uint32_t>(numbers.below(kPacked4));
  const std::uint32_t bytes = element_bits(out.type) / 8;
  out.va = 0x7f0000000000 + numbers.below(std::uint64_t{1} << 33) * 128;
  for (std::uint32_t d = 0; d < out.rank; ++d) {
    out.dims[d] = 1 + numbers.below(std::uint64_t{1} << (1 + numbers.below(d == 0 ? 20 : 14)));
  }
  std::uint64_t run = out.dims[0] * bytes;
  for (std::uint32_t d = 1; d < out.rank; ++d) {
    run = std::min<std::uint64_t>((run + 15) / 16 * 16 + 16 * numbers.below(1000), (std::uint64_t{1} << 40) - 16);
    out.strides[d - 1] = run;
    run *= out.dims[d];
  }
  out.swizzle = static_cast<std::uint32_t>(numbers.below(4));
  out.l2_promotion = static_cast<std::uint32_t>(numbers.below(4));
  out.fill = out.type >= 6 ? static_cast<std::uint32_t>(numbers.below(2)) : 0;
  const std::uint32_t widest = out.swizzle == 0 ? 128 : 16U << out.swizzle;  // bytes of a row of the box
  out.box[0] = static_cast<std::uint32_t>(1 + numbers.below(widest / 16)) * 16 / bytes;
  for (std::uint32_t d = 1; d < out.rank && !out.im2col; ++d) {
    out.box[d] = static_cast<std::uint32_t>(1 + numbers.below(d < 3 ? 64 : 4));
  }
  for (std::uint32_t d = 1; d < out.rank; ++d) {
    out.element_strides[d] = static_cast<std::uint32_t>(numbers.below(3) == 0 ? 1 + numbers.below(8) : 1);
  }
  if (out.im2col) {
    for (std::uint32_t d = 0; d < out.rank - 2; ++d) {
      out.lower[d] = -static_cast<std::int32_t>(numbers.below(4));
      out.upper[d] = -static_cast<std::int32_t>(numbers.below(4));
    }
    out.pixels = static_cast<std::uint32_t>(1 + numbers.below(256));
  }
  return out;
}

}  // namespace

std::uint32_t element_bits(std::uint32_t type) {
  // In cuda.h's order; packed types are counted with their gaps, as they are stored in a row of memory.
  constexpr std::array<std::uint32_t, kMapTypes> kBits = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 8, 8};
  return type < kMapTypes ? kBits[type] : 0;
}

std::optional<TensorMap> map_of(const MapArguments& arguments) {
  if (arguments.interleave != 0 || arguments.rank < 1 || arguments.rank > kMaxMapRank) return std::nullopt;
  TensorMap out;
  out.va = arguments.va;
  out.element_bits = element_bits(arguments.type);
  out.rank = arguments.rank;
  out.im2col = arguments.im2col;
  for (std::uint32_t d = 0; d < out.rank; ++d) {
    out.dims[d] = arguments.dims[d];
    if (d != 0) out.strides[d - 1] = arguments.strides[d - 1];
    if (d == 0 || !out.im2col) out.box[d] = arguments.box[d];
  }
  return is_possible(out) ? std::optional(out) : std::nullopt;
}

std::optional<std::uint32_t> MapLayout::Kind::of(std::span<const unsigned char, kMapBytes> bytes) const {
  MapBytes found{};
  for (std::size_t i = 0; i < kMapBytes; ++i) found[i] = static_cast<unsigned char>(bytes[i] & mask[i]);
  for (std::uint32_t value = 0; value < codes.size(); ++value) {
    if (codes[value] == found) return value;
  }
  return std::nullopt;
}

// Learns one field after the other; throws errors as texts.
class MapLayout::Learner {
 public:
  explicit Learner(const MapEncoder& encode) : encode_(encode) {}

  MapLayout run() {
    learn_address();
    for (std::uint32_t d = 0; d < kMaxMapRank; ++d) learn_dimension(d);
    for (std::uint32_t d = 1; d < kMaxMapRank; ++d) learn_stride(d);
    learn_boxes();
    // Kinds are properties that are not numbers.
    learn_rank();
    learn_types();
    learn_im2col();
    learn_interleave();
    verify();
    return std::move(out_);
  }

 private:
  struct Problem {
    std::string text;
  };
  friend class MapLayout;

  // Returns the arguments of the smallest map of this rank: all numbers are as small as allowed.
  static MapArguments smallest(std::uint32_t rank, std::uint32_t type) {
    MapArguments out;
    out.rank = rank;
    out.type = type;
    out.va = std::uint64_t{1} << 46;
    for (std::uint32_t d = 0; d < rank; ++d) {
      out.dims[d] = 1;
      out.box[d] = 1;
      if (d != 0) out.strides[d - 1] = 32;
    }
    out.box[0] = 16;
    return out;
  }

  MapBytes encode(const MapArguments& arguments, const char* what) const {
    MapBytes bytes{};
    if (!encode_(arguments, bytes)) throw Problem{std::string("the driver refuses a map to learn ") + what};
    return bytes;
  }

  // Returns the one bit in which the maps of `a` and `b` differ.
  Place flipped(const MapArguments& a, const MapArguments& b, const char* what) {
    const MapBytes difference = encode(a, what) ^ encode(b, what);
    int bits = 0;
    Place place = 0;
    for (std::size_t i = 0; i < kMapBytes; ++i) {
      bits += std::popcount(difference[i]);
      if (difference[i] != 0) {
        place = static_cast<Place>(i * 8 + static_cast<std::size_t>(std::countr_zero(difference[i])));
      }
    }
    if (bits != 1) {
      throw Problem{std::string("one bit of ") + what + " changes " + std::to_string(bits) + " of the map"};
    }
    if (bit_of(out_.numbers_, place)) throw Problem{std::string("a bit of ") + what + " shares its place"};
    return place;
  }

  template <class Field>
  void note(const Field& field) {
    for (const Place place : field) {
      out_.numbers_[place / 8] = static_cast<unsigned char>(out_.numbers_[place / 8] | 1 << (place % 8));
    }
  }

  void learn_address() {
    for (std::size_t bit = 0; bit < kAddressBits; ++bit) {
      MapArguments a = smallest(2, 0);
      a.va = bit == 42 ? std::uint64_t{1} << 45 : std::uint64_t{1} << 46;
      MapArguments b = a;
      b.va |= std::uint64_t{1} << (bit + 4);
      out_.address_[bit] = flipped(a, b, "the address");
    }
    note(out_.address_);
  }

  void learn_dimension(std::uint32_t d) {
    for (std::size_t bit = 0; bit < 32; ++bit) {
      const MapArguments a = smallest(kMaxMapRank, 0);
      MapArguments b = a;
      b.dims[d] += std::uint64_t{1} << bit;
      out_.dims_[d][bit] = flipped(a, b, "a dimension");
    }
    note(out_.dims_[d]);
  }

  void learn_stride(std::uint32_t d) {
    for (std::size_t bit = 0; bit < 36; ++bit) {
      MapArguments a = smallest(kMaxMapRank, 0);
      MapArguments b = a;
      a.strides[d - 1] = std::uint64_t{16} << (bit == 0 ? 1 : 0);
      b.strides[d - 1] = a.strides[d - 1] + (std::uint64_t{16} << bit);
      out_.strides_[d - 1][bit] = flipped(a, b, "a stride");
    }
    note(out_.strides_[d - 1]);
  }

  void learn_boxes() {
    for (std::size_t bit = 1; bit < 8; ++bit) {
      MapArguments a = smallest(kMaxMapRank, kFloat64);
      MapArguments b = a;
      a.box[0] = 2;
      b.box[0] = 2 + (1U << bit);
      out_.box0_[bit - 1] = flipped(a, b, "a box");
    }
    note(out_.box0_);
    for (std::uint32_t d = 1; d < kMaxMapRank; ++d) {
      for (std::size_t bit = 0; bit < 8; ++bit) {
        const MapArguments a = smallest(kMaxMapRank, 0);
        MapArguments b = a;
        b.box[d] += 1U << bit;
        out_.box_[d][bit] = flipped(a, b, "a box");
      }
      note(out_.box_[d]);
    }
  }

  // Finds the bits, other than those of numbers, that differ among the maps, and the code of each map in these bits.
  Kind kind(const std::vector<std::optional<MapBytes>>& maps, const char* what) const {
    Kind out;
    const MapBytes* first = nullptr;
    for (const auto& map : maps) {
      if (!map) continue;
      if (first == nullptr) first = &*map;
      include(out.mask, without(*first ^ *map, out_.numbers_));
    }
    if (is_zero(out.mask)) throw Problem{std::string("maps do not tell ") + what};
    for (const auto& map : maps) {
      std::optional<MapBytes>& code = out.codes.emplace_back();
      if (!map) continue;
      code.emplace();
      for (std::size_t i = 0; i < kMapBytes; ++i) (*code)[i] = static_cast<unsigned char>((*map)[i] & out.mask[i]);
    }
    return out;
  }

  void learn_rank() {
    std::vector<std::optional<MapBytes>> maps(1);
    for (std::uint32_t rank = 1; rank <= kMaxMapRank; ++rank) maps.emplace_back(encode(smallest(rank, 0), "ranks"));
    out_.rank_ = kind(maps, "their rank");
    for (std::uint32_t a = 1; a <= kMaxMapRank; ++a) {
      for (std::uint32_t b = 1; b < a; ++b) {
        if (out_.rank_.codes[a] == out_.rank_.codes[b]) throw Problem{"maps of different ranks look the same"};
      }
    }
  }

  void learn_types() {
    std::vector<std::optional<MapBytes>> maps;
    for (std::uint32_t type = 0; type < kMapTypes; ++type) {
      MapArguments arguments = smallest(2, type);
      arguments.box[0] = type < kPacked4 ? 16 : type == kPacked4 ? 32 : 128;
      arguments.dims[0] = type < kPacked4 ? 1 : 128;
      MapBytes bytes{};
      maps.emplace_back(encode_(arguments, bytes) ? std::optional(bytes) : std::nullopt);
      if (!maps.back() && type < kPacked4) throw Problem{"the driver refuses a map to learn element types"};
    }
    out_.type_ = kind(maps, "their element type");
    for (std::uint32_t a = 0; a < kMapTypes; ++a) {
      for (std::uint32_t b = 0; b < a; ++b) {
        const bool same = out_.type_.codes[a] && out_.type_.codes[a] == out_.type_.codes[b];
        if (same && element_bits(a) != element_bits(b)) throw Problem{"maps of different elements look the same"};
      }
    }
  }

  // Element strides and, for an im2col map, the fields after the channels are not needed: both maps have the same.
  void learn_im2col() {
    for (std::uint32_t rank = 3; rank <= kMaxMapRank; ++rank) {
      std::vector<std::optional<MapBytes>> maps;
      for (const bool im2col : {false, true}) {
        MapArguments arguments = smallest(rank, 0);
        arguments.im2col = im2col;
        maps.emplace_back(encode(arguments, "im2col"));
      }
      const Kind found = kind(maps, "im2col");
      if (rank == 3) out_.im2col_ = found;
      if (found.mask != out_.im2col_.mask || found.codes != out_.im2col_.codes) {
        throw Problem{"im2col maps of different ranks differ otherwise"};
      }
    }
  }

  void learn_interleave() {
    std::vector<std::optional<MapBytes>> maps;
    for (std::uint32_t interleave = 0; interleave < 3; ++interleave) {
      MapArguments arguments = smallest(3, kFloat64);
      arguments.interleave = interleave;
      arguments.swizzle = 1;  // the only value that all three accept
      arguments.strides = {128, 128, 0, 0};
      arguments.box[0] = interleave == 0 ? 4 : 8;
      maps.emplace_back(encode(arguments, "interleaving"));
    }
    out_.interleave_ = kind(maps, "interleaving");
  }

  void verify() {
    Numbers numbers;
    std::uint32_t im2col = 0;
    for (std::uint32_t i = 0; i < kVerifiedMaps; ++i) {
      const MapArguments arguments = random_arguments(numbers, i);
      MapBytes bytes{};
      if (!encode_(arguments, bytes)) continue;
      if (out_.decode(bytes) != map_of(arguments)) {
        throw Problem{"map " + std::to_string(i) + " of the second set, of rank " + std::to_string(arguments.rank) +
                      " and type " + std::to_string(arguments.type) + ", is decoded to something else"};
      }
      ++out_.verified_;
      im2col += arguments.im2col ? 1 : 0;
    }
    if (out_.verified_ < kFewestVerified || im2col < kFewestVerified / 5) {
      throw Problem{"the driver takes only " + std::to_string(out_.verified_) + " maps of the second set, " +
                    std::to_string(im2col) + " of them im2col"};
    }
  }

  const MapEncoder& encode_;
  MapLayout out_;
};

std::optional<MapLayout> MapLayout::learn(const MapEncoder& encode, std::string& why) {
  try {
    return Learner(encode).run();
  } catch (const Learner::Problem& problem) {
    why = problem.text;
    return std::nullopt;
  }
}

std::optional<TensorMap> MapLayout::decode(std::span<const unsigned char, kMapBytes> bytes) const {
  const std::optional<std::uint32_t> rank = rank_.of(bytes), type = type_.of(bytes), im2col = im2col_.of(bytes);
  if (!rank || !type || !im2col || interleave_.of(bytes) != 0) return std::nullopt;
  TensorMap out;
  out.va = number_of(bytes, address_) << 4;
  out.rank = *rank;
  out.element_bits = element_bits(*type);
  out.im2col = *im2col == 1;
  out.box[0] = static_cast<std::uint32_t>(number_of(bytes, box0_) << 1) + 2;
  for (std::uint32_t d = 0; d < kMaxMapRank; ++d) {
    const std::uint64_t dimension = number_of(bytes, dims_[d]);
    if (d >= out.rank) {
      // Strides of unused dimensions may have any value: cuBLAS leaves numbers in them.
      if (dimension != 0) return std::nullopt;
      continue;
    }
    out.dims[d] = dimension + 1;
    if (d == 0) continue;
    out.strides[d - 1] = number_of(bytes, strides_[d - 1]) * 16;
    if (!out.im2col) out.box[d] = static_cast<std::uint32_t>(number_of(bytes, box_[d])) + 1;
  }
  return is_possible(out) ? std::optional(out) : std::nullopt;
}

}  // namespace uvmtrace
