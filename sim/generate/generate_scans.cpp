// SPDX-License-Identifier: Apache-2.0
// Patterns that walk over their objects in order. The help texts at the end of this file describe the accesses of each.
#include <algorithm>

#include "sim/common/error.h"
#include "sim/generate/generate_patterns.h"

namespace uvmsim::trace {

namespace {

// Part k of K of n pages: [begin, end). Parts differ by at most one page.
struct Share {
  std::uint64_t begin, end;
};
Share share(std::uint64_t pages, std::uint64_t k, std::uint64_t shares) {
  const std::uint64_t quotient = pages / shares, rest = pages % shares;
  const std::uint64_t begin = k * quotient + std::min(k, rest);
  return {begin, begin + quotient + (k < rest ? 1 : 0)};
}

void need_pages(const GeneratorOptions& options, std::uint64_t pages) {
  if (options.kernels > pages) {
    throw_input_error("kernels is {}; allowed: up to the {} pages that they share out", options.kernels, pages);
  }
}

class Scan final : public SyntheticProgram {
 public:
  Scan(const GeneratorOptions& options, bool turns) : SyntheticProgram(options), turns_(turns) {
    need_pages(options, options.bytes / kPageBytes);
    add_object(options.bytes / kPageBytes * kPageBytes);
  }

 private:
  void fill(std::uint64_t repeat, std::uint64_t index, Kernel& kernel) override {
    const bool backwards = turns_ && repeat % 2 == 1;
    const auto part = share(object_pages(0), backwards ? options_.kernels - 1 - index : index, options_.kernels);
    add_access(kernel, 0, part.begin, part.end - part.begin);
    if (turns_) {
      // The direction must change within a kernel too, so the order is given page by page.
      order(part, backwards, kernel);
    }
  }
  static void order(const Share& part, bool backwards, Kernel& kernel) {
    const auto& extents = kernel.accesses[0].extents;
    for (std::uint64_t i = 0; i < part.end - part.begin; ++i) {
      const std::uint64_t page = backwards ? part.end - 1 - i : part.begin + i;
      const bool in_first = page < extents[0].first + extents[0].count;
      kernel.touches.push_back({0, page, extents[in_first ? 0 : 1].mode});
    }
    kernel.distribution = Distribution::kThreadChunk;
  }

  bool turns_;
};

// A matrix whose rows are `stride_bytes` long, read word by word.
class WordsOfAMatrix final : public SyntheticProgram {
 public:
  enum class Thread : std::uint8_t { kPerRow, kPerColumn };

  WordsOfAMatrix(const GeneratorOptions& options, Thread thread) : SyntheticProgram(options), thread_(thread) {
    const std::uint64_t e = element_bytes_of(options), row = options.stride_bytes;
    const std::uint64_t rows = options.bytes / row;
    if (rows == 0) throw_input_error("bytes is {}; allowed: at least a row of {} (stride-bytes)", options.bytes, row);
    const std::uint64_t threads = thread == Thread::kPerRow ? rows : row / e;
    block_ = std::min<std::uint64_t>(options.block, threads);
    blocks_ = threads / block_;
    if (blocks_ > INT32_MAX) throw_input_error("{} thread blocks; allowed: up to {}", blocks_, INT32_MAX);
    add_object((thread == Thread::kPerRow ? blocks_ * block_ : rows) * row);
  }

 private:
  void fill(std::uint64_t, std::uint64_t, Kernel& kernel) override {
    kernel.grid.x = static_cast<std::uint32_t>(blocks_);
    kernel.block.x = static_cast<std::uint32_t>(block_);
    kernel.distribution = thread_ == Thread::kPerRow ? Distribution::kThreadChunk : Distribution::kGridStride;
    kernel.bytes_per_thread_access = options_.element_bytes;
    add_access(kernel, 0, 0, object_pages(0));
  }

  Thread thread_;
  std::uint64_t blocks_ = 1, block_ = 1;
};

class CyclicScan final : public SyntheticProgram {
 public:
  explicit CyclicScan(const GeneratorOptions& options) : SyntheticProgram(options) {
    need_pages(options, options.bytes / kPageBytes);
    for (std::uint64_t k = 0; k < options.kernels; ++k) {
      add_object(options.bytes / options.kernels / kPageBytes * kPageBytes);
    }
  }

 private:
  void fill(std::uint64_t, std::uint64_t index, Kernel& kernel) override {
    add_access(kernel, index, 0, object_pages(index));
  }
};

class Strided final : public SyntheticProgram {
 public:
  explicit Strided(const GeneratorOptions& options) : SyntheticProgram(options) {
    if (options.stride_bytes > options.bytes / kPageBytes * kPageBytes) {
      throw_input_error("stride-bytes is {}; allowed: up to the object's {}", options.stride_bytes,
                        options.bytes / kPageBytes * kPageBytes);
    }
    add_object(options.bytes / kPageBytes * kPageBytes);
  }

 private:
  void fill(std::uint64_t, std::uint64_t index, Kernel& kernel) override {
    const std::uint64_t stride = options_.stride_bytes / kPageBytes, pages = object_pages(0);
    const std::uint64_t start = index % stride;
    const std::uint64_t count = (pages - start + stride - 1) / stride;
    const std::uint64_t written = count * options_.write_percent / 100;
    ObjectAccess& access = kernel.accesses.emplace_back();
    access.object = 1;
    access.extents.edit().reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      access.extents.push_back({start + i * stride, 1, i < written ? AccessMode::kWrite : AccessMode::kRead});
    }
    if (stride == 1) {
      access.extents.clear();
      kernel.accesses.clear();
      add_access(kernel, 0, 0, pages);
    }
  }
};

class Stencil final : public SyntheticProgram {
 public:
  explicit Stencil(const GeneratorOptions& options) : SyntheticProgram(options) {
    const std::uint64_t pages = options.bytes / 2 / kPageBytes;
    need_pages(options, pages);
    if (options.halo_bytes / kPageBytes > pages / options.kernels) {
      throw_input_error("halo-bytes is {}; allowed: up to one band of {}", options.halo_bytes,
                        pages / options.kernels * kPageBytes);
    }
    add_object(pages * kPageBytes);
    add_object(pages * kPageBytes);
  }

 private:
  void fill(std::uint64_t repeat, std::uint64_t index, Kernel& kernel) override {
    const std::uint64_t pages = object_pages(0), halo = options_.halo_bytes / kPageBytes;
    const auto band = share(pages, index, options_.kernels);
    const std::uint64_t first = band.begin - std::min(band.begin, halo);
    const std::uint64_t end = std::min(pages, band.end + halo);
    const std::size_t source = repeat % 2, target = 1 - source;
    // Slots are ordered by address, as in recordings.
    kernel.accesses.resize(2);
    kernel.accesses[source] = {source + 1, {{first, end - first, AccessMode::kRead}}};
    kernel.accesses[target] = {target + 1, {{band.begin, band.end - band.begin, AccessMode::kWrite}}};
  }
};

}  // namespace

std::span<const GeneratorPattern> scan_patterns() {
  static constexpr GeneratorPattern kPatterns[] = {
      {"sequential", "kernel k of K reads the k-th share of one object, ascending",
       "Every page once per repeat. N pages, capacity C: with C >= N only the first repeat faults; with "
       "C < N an LRU of pages misses all N in every repeat.",
       make_pattern<Scan, false>},
      {"cyclic_scan", "kernel k of K reads object k of K, each of bytes/K",
       "A cyclic reference string over K objects. With room for C < K of them LRU misses every kernel; "
       "the optimum misses K in the first repeat, then the fraction (K - C) / (K - 1).",
       make_pattern<CyclicScan>},
      {"zigzag", "as sequential, but every second repeat runs backwards",
       "LRU keeps the C pages touched last, which come first in the next repeat: N misses in the first "
       "repeat, N - C in every other one. That is optimal.",
       make_pattern<Scan, true>},
      {"strided", "one page every stride-bytes of one object; kernel k starts k pages later",
       "With s = stride / 4096, kernel k touches ceil((N - k mod s) / s) pages; s kernels touch all N.",
       make_pattern<Strided>},
      {"row_per_thread",
       "every thread walks a row of its own, stride-bytes long, by element-bytes; the lanes of a warp are on as "
       "many rows and come back to a page 4096 / element-bytes times",
       "N pages. With C >= N every page comes once. With less, every row of the resident threads is in use at "
       "the same time: where their VA blocks do not fit, a page may leave between two of its reads, and comes again.",
       make_pattern<WordsOfAMatrix, WordsOfAMatrix::Thread::kPerRow>},
      {"column_per_thread",
       "every thread walks a column by element-bytes, so that all of them are in the same row, stride-bytes long, "
       "at a time",
       "The rows in order: N misses in each repeat under LRU with C < N, and in the first only with C >= N.",
       make_pattern<WordsOfAMatrix, WordsOfAMatrix::Thread::kPerColumn>},
      {"stencil",
       "two arrays of bytes/2; kernel k reads band k of one with a halo on both sides and writes band k "
       "of the other; the arrays change places every repeat",
       "With S = bytes / 2, each repeat reads S + 2 (K - 1) halo bytes and writes S.", make_pattern<Stencil>},
  };
  return kPatterns;
}

}  // namespace uvmsim::trace
