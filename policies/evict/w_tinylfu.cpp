// SPDX-License-Identifier: Apache-2.0
// W-TinyLFU: a small LRU window for new chunks and a segmented LRU for the rest; a sketch of frequencies decides
// admission.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "sim/common/lazy_array.h"
#include "sim/policy/cache_policy.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

// The approximate number of recent accesses to a content: a count-min sketch of four rows with counters up to 15.
class FrequencySketch {
 public:
  // All counts are halved after `period` accesses.
  FrequencySketch(std::uint32_t chunk_count, std::uint64_t period)
      : period_(period), width_(std::bit_ceil(std::uint64_t{chunk_count} * 8)) {
    counters_.grow(kRows * width_);
  }

  void count(ContentIndex content) {
    const unsigned estimate = frequency(content);
    for (unsigned row = 0; row < kRows && estimate < kMost; ++row) {
      std::uint8_t& counter = counters_[place(content, row)];
      counter = std::max(counter, static_cast<std::uint8_t>(estimate + 1));  // no more than needed
    }
    if (++accesses_ == period_) {
      accesses_ = 0;
      for (std::size_t i = 0; i < counters_.size(); ++i) {
        if (counters_[i] != 0) counters_[i] = static_cast<std::uint8_t>(counters_[i] / 2);
      }
    }
  }
  unsigned frequency(ContentIndex content) const {
    unsigned least = kMost;
    for (unsigned row = 0; row < kRows; ++row) least = std::min<unsigned>(least, counters_[place(content, row)]);
    return least;
  }

 private:
  static constexpr unsigned kRows = 4;
  static constexpr unsigned kMost = 15;

  std::size_t place(ContentIndex content, unsigned row) const {
    return row * width_ + (Random(content.value * kRows + row).next() & (width_ - 1));
  }

  std::uint64_t period_;
  std::uint64_t width_;
  LazyArray<std::uint8_t> counters_;
  std::uint64_t accesses_ = 0;
};

class WindowTinyLfu final : public CachePolicy {
 public:
  static PolicyInfo info() {
    return {.description = "W-TinyLFU: what leaves a small window replaces a chunk of the main part if used more often",
            .source = "Einziger, Friedman, Manes, ACM Transactions on Storage 2017",
            .information = InformationClass::kD2,
            .granularity = Granularity::kEither};
  }
  static ParameterTable parameters() {
    return {real("window", 1, {0, 100}, "length of the window, in percent of the chunks, at least one chunk"),
            integer("protected", 80, {0, 100}, "part of the main list for chunks that were hit in it, in percent"),
            integer("period", 10, {1, 1000}, "accesses per chunk of memory after which all frequencies are halved")};
  }

  explicit WindowTinyLfu(const PolicyContext& context)
      : CachePolicy(context),
        window_length_(
            std::max(1u, static_cast<std::uint32_t>(context.parameters.real("window") * context.chunk_count / 100))),
        most_protected_((context.chunk_count - std::min(context.chunk_count, window_length_)) *
                        static_cast<std::uint64_t>(context.parameters.integer("protected")) / 100),
        lists_(context.chunk_count, kListCount),
        sketch_(context.chunk_count,
                context.chunk_count * static_cast<std::uint64_t>(context.parameters.integer("period"))) {}

 private:
  enum List : std::uint32_t { kWindow, kProbation, kProtected, kListCount };

  void miss(ContentIndex content) override { sketch_.count(content); }
  // While there is room, chunks from the window enter the main part without a contest.
  void insert(ChunkId chunk) override {
    lists_.move_to_back(kWindow, chunk);
    if (lists_.size(kWindow) > window_length_) lists_.move_to_back(kProbation, lists_.front(kWindow));
  }
  void hit(ChunkId chunk) override {
    sketch_.count(content_of(chunk));
    lists_.move_to_back(lists_.list_of(chunk) == kWindow ? kWindow : kProtected, chunk);
    if (lists_.size(kProtected) > most_protected_) lists_.move_to_back(kProbation, lists_.front(kProtected));
  }
  void remove(ChunkId chunk) override { lists_.remove(chunk); }

  // The incoming content takes a place in the window; if the window is full, its oldest chunk must win one in the main
  // part.
  ChunkId replace(const EvictionQueries& queries) override {
    const ChunkId candidate =
        lists_.size(kWindow) >= window_length_ ? lists_.first_evictable(kWindow, queries) : ChunkId{};
    ChunkId victim = lists_.first_evictable(kProbation, queries);
    if (!victim.valid()) victim = lists_.first_evictable(kProtected, queries);
    if (!victim.valid()) return lists_.take_first_evictable(kWindow, queries);
    if (candidate.valid()) {
      if (sketch_.frequency(content_of(candidate)) <= sketch_.frequency(content_of(victim))) {
        victim = candidate;
      } else {
        lists_.move_to_back(kProbation, candidate);
      }
    }
    lists_.remove(victim);
    return victim;
  }

  std::uint32_t window_length_;
  std::uint64_t most_protected_;
  ChunkLists lists_;
  FrequencySketch sketch_;
};

}  // namespace

UVMSIM_POLICY(w_tinylfu, WindowTinyLfu);

}  // namespace uvmsim::policy
