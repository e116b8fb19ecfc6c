// SPDX-License-Identifier: Apache-2.0
#include "sim/generate/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "sim/common/error.h"
#include "sim/common/units.h"
#include "sim/generate/generate_patterns.h"
#include "sim/trace/limits.h"
#include "sim/trace/names.h"
#include "sim/trace/reuse.h"

namespace uvmsim::trace {

namespace {

constexpr std::uint64_t kFirstAddress = 0x7f0000000000;
constexpr std::uint64_t kMaxRepeats = 1000000000;

constexpr std::array kPatterns = {
    GeneratorPattern{"sequential", "kernel k of K reads the k-th share of one object, ascending",
                     "Every page once per repeat. N pages, capacity C: with C >= N only the first repeat faults; with "
                     "C < N an LRU of pages misses all N in every repeat."},
    GeneratorPattern{"cyclic_scan", "kernel k of K reads object k of K, each of bytes/K",
                     "A cyclic reference string over K objects. With room for C < K of them LRU misses every kernel; "
                     "the optimum misses K in the first repeat, then the fraction (K - C) / (K - 1)."},
    GeneratorPattern{"zigzag", "as sequential, but every second repeat runs backwards",
                     "LRU keeps the C pages touched last, which come first in the next repeat: N misses in the first "
                     "repeat, N - C in every other one. That is optimal."},
    GeneratorPattern{"strided", "one page every stride-bytes of one object; kernel k starts k pages later",
                     "With s = stride / 4096, kernel k touches ceil((N - k mod s) / s) pages; s kernels touch all N."},
    GeneratorPattern{"stencil",
                     "two arrays of bytes/2; kernel k reads band k of one with a halo on both sides and writes band k "
                     "of the other; the arrays change places every repeat",
                     "With S = bytes / 2, each repeat reads S + 2 (K - 1) halo bytes and writes S."},
    GeneratorPattern{"random", "every kernel draws `touches` pages of one object, uniform, with replacement",
                     "A kernel touches N (1 - (1 - 1/N)^T) different pages on average. One draw after the other, any "
                     "demand policy with C pages hits with probability C / N once it is full."},
    GeneratorPattern{"zipf", "as random, but the page of rank r is drawn with probability ~ r^-exponent",
                     "Keeping the C most popular pages hits with probability H(C) / H(N), H(n) = sum of r^-exponent; "
                     "no policy that does not know the draws does better on average. Ranks are scattered over the "
                     "object."},
    GeneratorPattern{"pointer_chase", "one thread follows a cycle through one page every stride-bytes, in random order",
                     "M = bytes / stride dependent touches per repeat, never two at once: without prefetching M "
                     "faults, each alone in its batch, so time = M x latency of a lone fault."},
    GeneratorPattern{
        "tiled_matmul",
        "C = A x B, n x n elements in tiles of t x t; A by rows, B by columns, C tile by tile; one thread "
        "block per tile of C, phases of blocks-per-phase blocks",
        "With phases of one row of tiles (m = n / t phases): A and C once, B m times, so |A| + m |B| + |C| "
        "bytes over all phases. If B does not fit, LRU moves exactly that much."},
    GeneratorPattern{"repeated_scan", "one kernel whose phases each read the whole object",
                     "N pages, `scans` phases: with C >= N it moves N pages; with C < N LRU moves N x scans; the "
                     "optimum moves N in the first phase, then the fraction (N - C) / (N - 1)."},
    GeneratorPattern{"pipeline",
                     "training over `gpus` stages, each on its GPU, one forward and one backward pass in turn; kernels "
                     "counts the micro-batches; a pass reads weights and writes or reads activations, 1/8 of which a "
                     "copy takes on to the neighbour",
                     "Stage s of S keeps S - s micro-batches: u (1 + S - s) bytes, u = bytes / (S + S (S + 1) / 2) in "
                     "whole pages. With all resident a repeat of K takes K + S - 1 times a forward and a backward "
                     "pass, and what the copies take."},
};
constexpr std::array<ProgramFactory, kPatterns.size()> kFactories = {
    make_sequential, make_cyclic_scan,   make_zigzag,       make_strided,       make_stencil, make_random,
    make_zipf,       make_pointer_chase, make_tiled_matmul, make_repeated_scan, make_pipeline};

void check_options(const GeneratorOptions& options) {
  const auto in_range = [](std::string_view name, std::uint64_t value, std::uint64_t min, std::uint64_t max) {
    if (value < min || value > max) throw_input_error("{} is {}; allowed: {} to {}", name, value, min, max);
  };
  in_range("bytes", options.bytes, SyntheticProgram::kPageBytes, kMaxObjectBytes);
  in_range("repeats", options.repeats, 1, kMaxRepeats);
  in_range("kernels", options.kernels, 1, kMaxRepeats);
  in_range("gpus", options.gpus, 1, 16);
  in_range("write-percent", options.write_percent, 0, 100);
  in_range("touches", options.touches, 1, 1000000);
  in_range("zipf-exponent in thousandths", options.zipf_exponent_thousandths, 0, 10000);
  in_range("block", options.block, 1, 1024);
  in_range("grid", options.grid, 0, INT32_MAX);
  in_range("scans", options.scans, 1, 65536);
  in_range("duration-ns", static_cast<std::uint64_t>(options.duration_ns), 0, 1000000000000);
  in_range("host-gap-ns", static_cast<std::uint64_t>(options.host_gap_ns), 0, 1000000000000);
  for (const auto& [name, value] :
       {std::pair("stride-bytes", options.stride_bytes), std::pair("halo-bytes", options.halo_bytes)}) {
    if (value == 0 || value % SyntheticProgram::kPageBytes != 0) {
      throw_input_error("{} is {}; allowed: multiples of {}", name, value, SyntheticProgram::kPageBytes);
    }
  }
}

std::uint64_t touched_bytes(const Kernel& kernel) {
  std::uint64_t pages = 0;
  for (const ObjectAccess& access : kernel.accesses) {
    for (const Extent& extent : access.extents) pages += extent.count;
  }
  std::uint64_t phase_pages = 0;
  for (const Phase& phase : kernel.phases) {
    for (const PhaseAccess& access : phase.accesses) {
      for (const Extent& extent : access.extents) phase_pages += extent.count;
    }
  }
  return std::max(pages, phase_pages) * SyntheticProgram::kPageBytes;
}

}  // namespace

std::span<const GeneratorPattern> generator_patterns() { return kPatterns; }

std::unique_ptr<SyntheticProgram> make_program(const GeneratorOptions& options) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kPatterns.size(); ++i) {
    if (kPatterns[i].name == options.pattern) {
      check_options(options);
      return kFactories[i](options);
    }
    names.push_back(kPatterns[i].name);
  }
  throw_input_error("unknown pattern '{}'{}", printable(options.pattern), allowed_hint(options.pattern, names));
}

SyntheticProgram::SyntheticProgram(const GeneratorOptions& options)
    : options_(options), repeats_(options.repeats), next_va_(kFirstAddress) {
  header_.quantum_bytes = kPageBytes;
  header_.tool = "uvmsim trace generate";
  header_.program = fmt::format("synthetic {}", options.pattern);
  const auto note = [this](std::string_view key, std::uint64_t value) {
    header_.attributes.emplace_back(key, std::to_string(value));
  };
  header_.attributes.emplace_back("pattern", options.pattern);
  note("bytes", options.bytes);
  note("repeats", options.repeats);
  note("kernels", options.kernels);
  note("write_percent", options.write_percent);
  note("seed", options.seed);
}

bool SyntheticProgram::next(Record& record) {
  const auto advance = [this](Stage stage) {
    stage_ = stage;
    step_ = 0;
  };
  for (;;) {
    switch (stage_) {
      case Stage::kAllocate:
        if (step_ < objects_.size()) {
          const auto [bytes, device] = objects_[step_];
          const bool managed = device == kManaged;
          reset_to<ObjectAlloc>(record) = {step_ + 1, managed ? ObjectKind::kManaged : ObjectKind::kDevice, bytes,
                                           next_va_, managed ? 0 : device};
          next_va_ += (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
          ++step_;
          return true;
        }
        advance(options_.host_data ? Stage::kPopulate : Stage::kBegin);
        break;
      case Stage::kPopulate:
        if (step_ < objects_.size() && objects_[step_].device == kManaged) {
          auto& access = reset_to<HostAccess>(record);
          access.object = step_ + 1;
          access.extents.push_back({0, object_pages(step_), AccessMode::kWrite});
          ++step_;
          return true;
        }
        advance(Stage::kBegin);
        break;
      case Stage::kBegin:
        if (repeat_ == repeats_) {
          advance(Stage::kFree);
          break;
        }
        reset_to<Range>(record) = {RangeKind::kIterationBegin, "", repeat_};
        advance(Stage::kKernels);
        return true;
      case Stage::kKernels:
        if (step_ < steps()) {
          make_step(repeat_, step_, record);
          ++step_;
          return true;
        }
        advance(Stage::kSync);
        break;
      case Stage::kSync:
        reset_to<Sync>(record);
        advance(Stage::kEnd);
        return true;
      case Stage::kEnd:
        reset_to<Range>(record) = {RangeKind::kIterationEnd, "", repeat_};
        ++repeat_;
        advance(Stage::kBegin);
        return true;
      case Stage::kFree:
        if (step_ < objects_.size()) {
          reset_to<ObjectFree>(record).id = ++step_;
          return true;
        }
        advance(Stage::kDone);
        break;
      case Stage::kDone:
        return false;
    }
  }
}

void SyntheticProgram::make_step(std::uint64_t repeat, std::uint64_t index, Record& record) {
  auto& kernel = reset_to<Kernel>(record);
  kernel.name = options_.pattern;
  kernel.block.x = options_.block;
  kernel.host_gap_ns = options_.host_gap_ns;
  kernel.coverage = Coverage::kDeclared;
  kernel.grid.x = 0;
  fill(repeat, index, kernel);
  const std::uint64_t bytes = touched_bytes(kernel);
  if (options_.grid != 0 && kernel.phases.empty()) kernel.grid.x = options_.grid;
  if (kernel.grid.x == 0) {
    // 16 bytes per thread, as a float4 copy
    const std::uint64_t per_block = std::uint64_t{16} * kernel.block.x;
    const std::uint64_t blocks = (bytes + per_block - 1) / per_block;
    kernel.grid.x = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(blocks, 1, INT32_MAX));
  }
  if (options_.duration_ns != 0) {
    kernel.duration_ns = options_.duration_ns;
  } else if (kernel.duration_ns == 0) {
    kernel.duration_ns = 2000 + static_cast<std::int64_t>(bytes / 1000);
  }
}

void SyntheticProgram::add_access(Kernel& kernel, std::size_t object, std::uint64_t first, std::uint64_t count) const {
  ObjectAccess& access = kernel.accesses.emplace_back();
  access.object = object + 1;
  const std::uint64_t written = count * options_.write_percent / 100;
  if (written != 0) access.extents.push_back({first, written, AccessMode::kWrite});
  if (written != count) access.extents.push_back({first + written, count - written, AccessMode::kRead});
}

}  // namespace uvmsim::trace
