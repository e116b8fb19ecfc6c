// SPDX-License-Identifier: Apache-2.0
// The trained model of learned_ahead and late_ahead. At each fault it decides whether to fetch the rest of the block,
// and how many of the next blocks.
//
// Its features are the distance to the block that faulted before, and the one before that (deltas), how much of the
// block faulted, how many blocks its kernel (its layer) has faulted on, and which delta was most frequent when that
// kernel ran before. Each feature is a bucket; an output's score is a bias plus a weight per bucket, all integers, so
// that results are the same on every machine. An output above zero means yes. analysis/train_policies.py makes the
// weights.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "policies/prefetch/learned_ahead_weights.h"
#include "policies/weights.h"
#include "sim/common/state_digest.h"

namespace uvmsim::policy {

class AheadModel {
 public:
  static ParameterTable parameters() {
    return {path("weights", "integers, one a line, as analysis/train_policies.py --text writes them; none: built in"),
            integer("bias", 0, {-2560, 2560}, "added to every score, in 1/256: larger brings more")};
  }

  explicit AheadModel(const Parameters& parameters)
      : weights_(weights_of(parameters, "weights", kAheadWeights)),
        bias_(static_cast<std::int32_t>(parameters.integer("bias"))) {}

  void begin_kernel(std::string_view name, std::uint64_t thread_blocks) {
    if (const auto most = std::max_element(counts_.begin(), counts_.end()); *most != 0) {
      habits_[kernel_] = static_cast<unsigned>(most - counts_.begin()) + 1;
    }
    kernel_ = 0xcbf29ce484222325u ^ thread_blocks;
    for (const char c : name) kernel_ = (kernel_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    counts_.fill(0);
    delta_ = before_ = blocks_ = 0;
  }

  // Sets the next fault, which the answers below are about: `faulted` pages of the block.
  void look_at(std::uint64_t block, unsigned faulted) {
    before_ = delta_;
    delta_ = delta_to(block);
    ++counts_[delta_];
    const auto habit = habits_.find(kernel_);
    features_ = {delta_, before_, log2_bucket(faulted, 10), log2_bucket(blocks_, 8),
                 habit == habits_.end() ? 0 : habit->second};
    last_ = block;
    blocks_ = std::min(blocks_ + 1, 1u << 20);
  }
  bool whole_block() const { return score(0) > 0; }
  std::uint64_t blocks_ahead() const {
    std::uint64_t ahead = 0;
    for (unsigned i = 1; i < kOutputs; ++i) {
      if (score(i) > 0) ahead = kBlocksAhead[i];
    }
    return ahead;
  }

  void add_state(StateDigest& digest) const {
    digest.add(kernel_);
    digest.add(last_);
    for (const unsigned value : {delta_, blocks_}) digest.add(value);  // the next fault overwrites before_
    for (const std::uint32_t count : counts_) digest.add(count);
    for (const auto& [kernel, habit] : habits_) {
      StateDigest part = digest.part();
      part.add(kernel);
      part.add(habit);
      digest.add_unordered(part);
    }
  }

 private:
  static constexpr unsigned kDeltas = 9, kFeatures = 5, kOutputs = 5;
  static constexpr unsigned kBuckets[kFeatures] = {kDeltas, kDeltas, 11, 9, kDeltas + 1};
  static constexpr unsigned kPerOutput = 1 + kDeltas + kDeltas + 11 + 9 + kDeltas + 1;
  static constexpr std::uint64_t kBlocksAhead[kOutputs] = {0, 1, 2, 4, 8};
  static_assert(std::size(kAheadWeights) == kOutputs * kPerOutput);

  static unsigned log2_bucket(unsigned value, unsigned most) {
    return std::min(static_cast<unsigned>(std::bit_width(value)), most);
  }
  // Buckets: 0 is no previous block; then deltas of 0, 1, 2, a few, many, -1, minus a few, minus many.
  unsigned delta_to(std::uint64_t block) const {
    if (blocks_ == 0) return 0;
    const auto delta = static_cast<std::int64_t>(block - last_);
    if (delta >= 0 && delta <= 2) return 1 + static_cast<unsigned>(delta);
    if (delta > 0) return delta <= 8 ? 4 : 5;
    return delta == -1 ? 6 : delta >= -8 ? 7 : 8;
  }
  std::int64_t score(unsigned output) const {
    const std::int32_t* weight = weights_.data() + output * kPerOutput;
    std::int64_t sum = std::int64_t{bias_} + *weight++;
    for (unsigned i = 0; i < kFeatures; ++i) {
      sum += weight[features_[i]];
      weight += kBuckets[i];
    }
    return sum;
  }

  std::vector<std::int32_t> weights_;
  std::int32_t bias_;
  std::uint64_t kernel_ = 0;
  std::uint64_t last_ = 0;  // block that last faulted in this kernel, if any
  unsigned delta_ = 0, before_ = 0, blocks_ = 0;
  std::array<std::uint32_t, kDeltas> counts_{};  // of deltas in this kernel
  std::array<unsigned, kFeatures> features_{};   // of the current fault
  std::unordered_map<std::uint64_t, unsigned>
      habits_;  // by kernel: 1 + its most frequent delta; the order does not matter
};

}  // namespace uvmsim::policy
