// SPDX-License-Identifier: Apache-2.0
// The events of one kernel in order of time; events of equal times come in order of scheduling. A subject (a resident
// thread block or an SM) has at most one event.
//
// A hierarchical timing wheel (Varghese and Lauck, SOSP 1987): a slot per nanosecond for the 4096 ns around the
// present, then levels of 64 slots, each 64 times as wide as those below. When the present enters a slot of a higher
// level, the slot is spread over the lower levels. Every list is first in first out, and nothing joins a lower slot
// before the higher one that covers it was spread, so that equal times stay in the order of add().
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/common/units.h"

namespace uvmsim::engine {

class Agenda {
 public:
  struct Event {
    Nanoseconds time{};
    std::uint32_t subject = 0;
  };

  // Removes all events. Subjects are 0 to `subjects` - 1; the present is `now`.
  void reset(std::uint32_t subjects, Nanoseconds now) {
    nodes_.resize(subjects);
    near_bits_ = {};
    near_words_ = 0;
    far_bits_ = {};
    now_ = static_cast<std::uint64_t>(now.value);
  }

  // A time before the present is replaced by the present: a kernel that computed up to its next fault may be ahead of a
  // replay that another kernel's fault caused.
  void add(Nanoseconds time, std::uint32_t subject) {
    const std::uint64_t at = std::max(static_cast<std::uint64_t>(time.value), now_);
    nodes_[subject].time = at;
    insert(subject, at);
  }

  // Removes the subject's event, which must exist.
  void remove(std::uint32_t subject) {
    const std::uint64_t time = nodes_[subject].time;
    const unsigned level = level_of(time);
    const std::size_t slot = slot_of(time, level);
    std::uint32_t& tail = level == 0 ? near_[slot] : far_[level - 1][slot];
    const std::uint32_t before = nodes_[subject].previous, after = nodes_[subject].next;
    if (before == subject) return level == 0 ? clear_near(slot) : clear_far(level, slot);
    nodes_[before].next = after;
    nodes_[after].previous = before;
    if (tail == subject) tail = before;
  }

  // Takes the first event, unless it is later than `until`; then returns false.
  bool pop(Event& event, Nanoseconds until) {
    const auto limit = static_cast<std::uint64_t>(until.value);
    while (near_words_ == 0) {
      if (!spread(limit)) return false;
    }
    const unsigned word = lowest_bit(near_words_);
    const std::uint64_t bits = near_bits_[word];
    const unsigned slot = word * 64 + lowest_bit(bits);
    const std::uint64_t time = (now_ & ~(kNearSlots - 1)) | slot;
    if (time > limit) return false;
    now_ = time;
    Node* const nodes = nodes_.data();
    const std::uint32_t last = near_[slot];
    const std::uint32_t first = nodes[last].next;
    // No branches here and in append(): the processor could not predict them.
    const std::uint32_t second = nodes[first].next;
    nodes[last].next = second;
    nodes[second].previous = last;
    const std::uint64_t left = bits ^ (std::uint64_t{first == last} << slot % 64);
    near_bits_[word] = left;
    near_words_ ^= std::uint64_t{left == 0} << word;
    event.time = Nanoseconds(static_cast<std::int64_t>(time));
    event.subject = first;
    return true;
  }

  bool empty() const {
    return near_words_ == 0 &&
           std::all_of(std::begin(far_bits_), std::end(far_bits_), [](auto bits) { return bits == 0; });
  }

 private:
  static constexpr unsigned kNearBits = 12, kFarBits = 6;
  static constexpr std::uint64_t kNearSlots = std::uint64_t{1} << kNearBits;
  static constexpr std::uint64_t kFarSlots = std::uint64_t{1} << kFarBits;
  static constexpr unsigned kFarLevels = (64 - kNearBits + kFarBits - 1) / kFarBits;

  // The lists are rings; a slot knows its last node.
  struct Node {
    std::uint64_t time = 0;
    std::uint32_t next = 0, previous = 0;
  };

  // `bits` must not be 0 (std::countr_zero also handles 0, but costs more).
  static unsigned lowest_bit(std::uint64_t bits) { return static_cast<unsigned>(__builtin_ctzll(bits)); }
  static unsigned shift_of(unsigned level) { return kNearBits + kFarBits * (level - 1); }
  unsigned level_of(std::uint64_t time) const {
    const auto width = static_cast<unsigned>(std::bit_width(time ^ now_));
    return width <= kNearBits ? 0 : (width - kNearBits - 1) / kFarBits + 1;
  }
  static std::size_t slot_of(std::uint64_t time, unsigned level) {
    return static_cast<std::size_t>(level == 0 ? time & (kNearSlots - 1) : time >> shift_of(level) & (kFarSlots - 1));
  }

  void clear_near(std::size_t slot) {
    near_bits_[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
    if (near_bits_[slot / 64] == 0) near_words_ &= ~(std::uint64_t{1} << slot / 64);
  }
  void clear_far(unsigned level, std::size_t slot) { far_bits_[level - 1] &= ~(std::uint64_t{1} << slot); }

  void insert(std::uint32_t subject, std::uint64_t time) {
    if ((time ^ now_) < kNearSlots) {
      const auto slot = static_cast<unsigned>(time & (kNearSlots - 1));
      std::uint64_t& bits = near_bits_[slot / 64];
      append(near_[slot], subject, (bits >> slot % 64 & 1) == 0);
      bits |= std::uint64_t{1} << slot % 64;
      near_words_ |= std::uint64_t{1} << slot / 64;
    } else {
      const unsigned level = level_of(time);
      const std::size_t slot = slot_of(time, level);
      append(far_[level - 1][slot], subject, (far_bits_[level - 1] >> slot & 1) == 0);
      far_bits_[level - 1] |= std::uint64_t{1} << slot;
    }
  }
  void append(std::uint32_t& tail, std::uint32_t subject, bool empty) {
    Node* const nodes = nodes_.data();
    const std::uint32_t last = empty ? subject : tail;
    const std::uint32_t first = empty ? subject : nodes[last].next;
    nodes[subject].next = first;
    nodes[subject].previous = last;
    nodes[last].next = subject;
    nodes[first].previous = subject;
    tail = subject;
  }

  // Moves the present to the first far slot with events and spreads it; the near slots must be empty. Returns false if
  // there is none or it begins after `limit`.
  bool spread(std::uint64_t limit) {
    unsigned level = 1;
    while (level <= kFarLevels && far_bits_[level - 1] == 0) ++level;
    if (level > kFarLevels) return false;
    const auto slot = std::size_t{lowest_bit(far_bits_[level - 1])};
    const unsigned shift = shift_of(level);
    const unsigned above = shift + kFarBits;
    const std::uint64_t begin = (above < 64 ? now_ >> above << above : 0) | std::uint64_t{slot} << shift;
    if (begin > limit) return false;
    now_ = begin;
    clear_far(level, slot);
    const std::uint32_t last = far_[level - 1][slot];
    for (std::uint32_t subject = nodes_[last].next;;) {
      const std::uint32_t next = nodes_[subject].next;
      insert(subject, nodes_[subject].time);
      if (subject == last) return true;
      subject = next;
    }
  }

  std::vector<Node> nodes_;
  std::uint64_t now_ = 0;
  std::uint64_t near_words_ = 0;  // bit per word of near_bits_ that is not 0
  std::array<std::uint64_t, kNearSlots / 64> near_bits_{};
  std::array<std::uint64_t, kFarLevels> far_bits_{};
  std::array<std::uint32_t, kNearSlots> near_{};
  std::array<std::array<std::uint32_t, kFarSlots>, kFarLevels> far_{};
};

}  // namespace uvmsim::engine
