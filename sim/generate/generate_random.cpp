// SPDX-License-Identifier: Apache-2.0
// Patterns that depend on the seed. The help texts at the end of this file describe the accesses of each.
#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "sim/common/error.h"
#include "sim/common/random.h"
#include "sim/generate/generate_patterns.h"
#include "sim/generate/zipf.h"

namespace uvmsim::trace {

namespace {

constexpr std::uint64_t kMaxTablePages = std::uint64_t{1} << 26;  // tables with one entry per page stay below 1 GB

void need_table(std::uint64_t pages) {
  if (pages > kMaxTablePages) {
    throw_input_error("{} different pages; allowed for this pattern: up to {}", pages, kMaxTablePages);
  }
}

std::vector<std::uint32_t> identity(std::uint64_t count) {
  std::vector<std::uint32_t> out(count);
  std::iota(out.begin(), out.end(), 0u);
  return out;
}

class Draws final : public SyntheticProgram {
 public:
  Draws(const GeneratorOptions& options, bool is_zipf) : SyntheticProgram(options), random_(options.seed) {
    const std::uint64_t pages = options.bytes / kPageBytes;
    add_object(pages * kPageBytes);
    if (is_zipf) {
      need_table(pages);
      zipf_.emplace(pages, options.zipf_exponent_thousandths);
      page_of_rank_ = identity(pages);
      for (std::uint64_t i = pages; i > 1; --i) std::swap(page_of_rank_[i - 1], page_of_rank_[random_.below(i)]);
    }
  }

 private:
  void fill(std::uint64_t, std::uint64_t, Kernel& kernel) override {
    const std::uint64_t pages = object_pages(0);
    kernel.touches.reserve(options_.touches);
    for (std::uint64_t i = 0; i < options_.touches; ++i) {
      const std::uint64_t page = zipf_ ? page_of_rank_[zipf_->draw(random_)] : random_.below(pages);
      const bool writes = random_.below(100) < options_.write_percent;
      kernel.touches.push_back({0, page, writes ? AccessMode::kWrite : AccessMode::kRead});
    }
    add_union(kernel);
    // Each thread makes one draw.
    kernel.distribution = Distribution::kThreadChunk;
    kernel.grid.x = static_cast<std::uint32_t>((options_.touches + kernel.block.x - 1) / kernel.block.x);
  }

  // Adds the set of touched pages, each with all modes in which it is accessed.
  void add_union(Kernel& kernel) {
    sorted_.clear();
    for (const Touch& touch : kernel.touches) {
      sorted_.push_back(touch.quantum << 2 | static_cast<std::uint64_t>(touch.mode));
    }
    std::sort(sorted_.begin(), sorted_.end());
    ObjectAccess& access = kernel.accesses.emplace_back();
    access.object = 1;
    auto& extents = access.extents.edit();
    for (std::size_t i = 0; i < sorted_.size();) {
      const std::uint64_t page = sorted_[i] >> 2;
      std::uint64_t modes = 0;
      for (; i < sorted_.size() && sorted_[i] >> 2 == page; ++i) modes |= sorted_[i] & 3;
      append_extent(extents, {page, 1, static_cast<AccessMode>(modes)});
    }
  }

  Random random_;
  std::optional<ZipfDistribution> zipf_;
  std::vector<std::uint32_t> page_of_rank_;
  std::vector<std::uint64_t> sorted_;
};

class PointerChase final : public SyntheticProgram {
 public:
  explicit PointerChase(const GeneratorOptions& options) : SyntheticProgram(options) {
    const std::uint64_t pages = options.bytes / kPageBytes;
    add_object(pages * kPageBytes);
    const std::uint64_t stops = pages * kPageBytes / options.stride_bytes;
    need_table(stops);
    if (stops == 0 || options.kernels > stops) {
      throw_input_error("{} stops of the chase (bytes / stride-bytes) for {} kernels; allowed: at least one each",
                        stops, options.kernels);
    }
    // Draws a random single cycle (Sattolo 1986), which is walked from stop 0 on.
    auto next = identity(stops);
    Random random(options.seed);
    for (std::uint64_t i = stops; i > 1; --i) std::swap(next[i - 1], next[random.below(i - 1)]);
    order_.reserve(stops);
    std::uint32_t stop = 0;
    do {
      order_.push_back(stop);
      stop = next[stop];
    } while (stop != 0);
  }

 private:
  void fill(std::uint64_t, std::uint64_t index, Kernel& kernel) override {
    const std::uint64_t stops = order_.size(), stride = options_.stride_bytes / kPageBytes;
    const std::uint64_t begin = stops * index / options_.kernels, end = stops * (index + 1) / options_.kernels;
    for (std::uint64_t i = begin; i < end; ++i) kernel.touches.push_back({0, order_[i] * stride, AccessMode::kRead});
    ObjectAccess& access = kernel.accesses.emplace_back();
    access.object = 1;
    for (const Touch& touch : kernel.touches) access.extents.push_back({touch.quantum, 1, AccessMode::kRead});
    std::sort(access.extents.edit().begin(), access.extents.edit().end(),
              [](const Extent& a, const Extent& b) { return a.first < b.first; });
    kernel.grid = {1, 1, 1};
    kernel.block = {1, 1, 1};
    kernel.distribution = Distribution::kThreadChunk;
    kernel.duration_ns = static_cast<std::int64_t>(600 * (end - begin));  // 600 ns per touch of device memory
  }

  std::vector<std::uint32_t> order_;
};

}  // namespace

std::span<const GeneratorPattern> random_patterns() {
  static constexpr GeneratorPattern kPatterns[] = {
      {"random", "every kernel draws `touches` pages of one object, uniform, with replacement",
       "A kernel touches N (1 - (1 - 1/N)^T) different pages on average. One draw after the other, any "
       "demand policy with C pages hits with probability C / N once it is full.",
       make_pattern<Draws, false>},
      {"zipf", "as random, but the page of rank r is drawn with probability ~ r^-exponent",
       "Keeping the C most popular pages hits with probability H(C) / H(N), H(n) = sum of r^-exponent; "
       "no policy that does not know the draws does better on average. Ranks are scattered over the "
       "object.",
       make_pattern<Draws, true>},
      {"pointer_chase", "one thread follows a cycle through one page every stride-bytes, in random order",
       "M = bytes / stride dependent touches per repeat, never two at once: without prefetching M "
       "faults, each alone in its batch, so time = M x latency of a lone fault.",
       make_pattern<PointerChase>},
  };
  return kPatterns;
}

}  // namespace uvmsim::trace
