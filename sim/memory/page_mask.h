// SPDX-License-Identifier: Apache-2.0
// A set of the 512 base pages of one 2 MB VA block, as eight 64-bit words.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "sim/common/state_digest.h"
#include "sim/common/units.h"

namespace uvmsim {

class PageMask {
 public:
  static constexpr unsigned kWords = kPagesPerBlock / 64;

  constexpr PageMask() = default;

  // Returns pages [first, first + count); count may be 0; first + count <= 512.
  static constexpr PageMask range(unsigned first, unsigned count) {
    PageMask mask;
    mask.set_range(first, count);
    return mask;
  }
  static constexpr PageMask all() { return range(0, kPagesPerBlock); }

  constexpr bool test(unsigned page) const { return (words_[page >> 6] >> (page & 63)) & 1; }
  constexpr void set(unsigned page) { words_[page >> 6] |= std::uint64_t{1} << (page & 63); }
  constexpr void reset(unsigned page) { words_[page >> 6] &= ~(std::uint64_t{1} << (page & 63)); }
  constexpr void clear() { words_ = {}; }
  constexpr void set_range(unsigned first, unsigned count) {
    for (unsigned page = first, end = first + count; page < end;) {
      const unsigned bit = page & 63;
      const unsigned n = end - page < 64 - bit ? end - page : 64 - bit;
      words_[page >> 6] |= (n == 64 ? ~std::uint64_t{0} : ((std::uint64_t{1} << n) - 1)) << bit;
      page += n;
    }
  }

  constexpr bool empty() const {
    std::uint64_t any = 0;
    for (const auto word : words_) any |= word;
    return any == 0;
  }
  constexpr bool full() const { return count() == kPagesPerBlock; }
  constexpr unsigned count() const {
    // Counts in parallel bytes: without the popcount instruction, which not every machine has, this is faster.
    std::uint64_t sum = 0;
    for (std::uint64_t word : words_) {
      word -= word >> 1 & 0x5555555555555555u;
      word = (word & 0x3333333333333333u) + (word >> 2 & 0x3333333333333333u);
      sum += (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    }
    // Up to 64 per byte: sums of pairs need 16 bits.
    sum = (sum & 0x00ff00ff00ff00ffu) + (sum >> 8 & 0x00ff00ff00ff00ffu);
    return static_cast<unsigned>(sum * 0x0001000100010001u >> 48);
  }
  // Counts the pages set in [first, first + count).
  constexpr unsigned count_range(unsigned first, unsigned count) const { return (*this & range(first, count)).count(); }
  constexpr bool contains(const PageMask& other) const { return (other - *this).empty(); }
  constexpr bool intersects(const PageMask& other) const { return !(*this & other).empty(); }

  // Returns the first page >= from that is set (or clear); kPagesPerBlock when there is none.
  constexpr unsigned next_set(unsigned from) const { return next<false>(from); }
  constexpr unsigned next_clear(unsigned from) const { return next<true>(from); }

  // Calls f(first, count) for every maximal run of set pages, ascending.
  template <class F>
  constexpr void for_each_run(F&& f) const {
    for (unsigned first = next_set(0); first < kPagesPerBlock;) {
      const unsigned end = next_clear(first);
      f(first, end - first);
      first = next_set(end);
    }
  }
  // Calls f(page) for every set page, ascending.
  template <class F>
  constexpr void for_each(F&& f) const {
    for (unsigned w = 0; w < kWords; ++w) {
      for (std::uint64_t word = words_[w]; word != 0; word &= word - 1) {
        f(w * 64 + static_cast<unsigned>(std::countr_zero(word)));
      }
    }
  }

  // Returns every 64 KB unit (16 pages) that contains a set page, as a whole.
  constexpr PageMask grown_to_big_pages() const {
    PageMask out;
    for (unsigned w = 0; w < kWords; ++w) {
      for (unsigned k = 0; k < 4; ++k) {
        const std::uint64_t unit = std::uint64_t{0xffff} << (16 * k);
        if (words_[w] & unit) out.words_[w] |= unit;
      }
    }
    return out;
  }

  // Returns every aligned unit of 4 KB, 64 KB or 2 MB (1, 16 or 512 pages) that contains a set page, as a whole.
  constexpr PageMask grown_to(unsigned unit_pages) const {
    if (unit_pages == 1) return *this;
    if (unit_pages == kPagesPerBigPage) return grown_to_big_pages();
    return empty() ? PageMask{} : all();
  }

  constexpr PageMask operator&(const PageMask& o) const {
    return zip(o, [](auto a, auto b) { return a & b; });
  }
  constexpr PageMask operator|(const PageMask& o) const {
    return zip(o, [](auto a, auto b) { return a | b; });
  }
  // Set difference.
  constexpr PageMask operator-(const PageMask& o) const {
    return zip(o, [](auto a, auto b) { return a & ~b; });
  }
  constexpr PageMask& operator&=(const PageMask& o) { return *this = *this & o; }
  constexpr PageMask& operator|=(const PageMask& o) { return *this = *this | o; }
  constexpr PageMask& operator-=(const PageMask& o) { return *this = *this - o; }
  constexpr bool operator==(const PageMask&) const = default;

  constexpr std::uint64_t word(unsigned index) const { return words_[index]; }

 private:
  template <class F>
  constexpr PageMask zip(const PageMask& o, F f) const {
    PageMask out;
    for (unsigned w = 0; w < kWords; ++w) out.words_[w] = f(words_[w], o.words_[w]);
    return out;
  }
  template <bool Inverted>
  constexpr unsigned next(unsigned from) const {
    if (from >= kPagesPerBlock) return kPagesPerBlock;
    unsigned w = from >> 6;
    std::uint64_t word = (Inverted ? ~words_[w] : words_[w]) & (~std::uint64_t{0} << (from & 63));
    while (word == 0) {
      if (++w == kWords) return kPagesPerBlock;
      word = Inverted ? ~words_[w] : words_[w];
    }
    return w * 64 + static_cast<unsigned>(std::countr_zero(word));
  }

  std::array<std::uint64_t, kWords> words_{};
};

inline void add_mask(StateDigest& digest, const PageMask& mask) {
  for (unsigned word = 0; word < PageMask::kWords; ++word) digest.add(mask.word(word));
}

}  // namespace uvmsim
