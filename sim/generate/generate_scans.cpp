// SPDX-License-Identifier: Apache-2.0
// Patterns that walk over their objects in order. generate.cpp states what each one touches.
#include <algorithm>

#include "sim/common/error.h"
#include "sim/generate/generate_patterns.h"

namespace uvmsim::trace {

namespace {

// Share k of K of n pages: [begin, end). Shares differ by at most one page.
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
      // Within a kernel the order must turn too, so it is given page by page.
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
    // Slots by address, as in recordings.
    kernel.accesses.resize(2);
    kernel.accesses[source] = {source + 1, {{first, end - first, AccessMode::kRead}}};
    kernel.accesses[target] = {target + 1, {{band.begin, band.end - band.begin, AccessMode::kWrite}}};
  }
};

}  // namespace

std::unique_ptr<SyntheticProgram> make_sequential(const GeneratorOptions& options) {
  return std::make_unique<Scan>(options, false);
}
std::unique_ptr<SyntheticProgram> make_zigzag(const GeneratorOptions& options) {
  return std::make_unique<Scan>(options, true);
}
std::unique_ptr<SyntheticProgram> make_cyclic_scan(const GeneratorOptions& options) {
  return std::make_unique<CyclicScan>(options);
}
std::unique_ptr<SyntheticProgram> make_strided(const GeneratorOptions& options) {
  return std::make_unique<Strided>(options);
}
std::unique_ptr<SyntheticProgram> make_stencil(const GeneratorOptions& options) {
  return std::make_unique<Stencil>(options);
}

}  // namespace uvmsim::trace
