// SPDX-License-Identifier: Apache-2.0
// Synthetic programs with known results. Each yields its records one by one and never holds the whole trace.
//
// Every program allocates its objects (2 MB aligned, one after the other), writes them from the host unless told not
// to, runs `repeats` iterations of `kernels` kernels each, and frees its objects. (The pipeline runs twice as many
// kernels for every stage, and the copies between them.) A device synchronisation ends each iteration. Accesses are
// counted in pages of 4096 bytes. The same options give the same records on every machine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/record.h"

namespace uvmsim::trace {

struct GeneratorOptions {
  std::string pattern = "sequential";  // one of generator_patterns()
  // Total of all objects; rounded down to a size that the pattern can use.
  std::uint64_t bytes = std::uint64_t{64} << 20;
  std::uint64_t repeats = 1;
  std::uint64_t kernels = 1;        // per repeat
  std::uint32_t gpus = 4;           // pipeline: stages, one per GPU
  std::uint32_t write_percent = 0;  // share of the touched pages that are written; the rest are read
  std::uint64_t seed = 1;           // of random, zipf and pointer_chase
  // strided, pointer_chase: distance of touched pages; row_per_thread, column_per_thread, convolution_per_thread:
  // length of a row. Multiple of 4096
  std::uint64_t stride_bytes = 65536;
  std::uint64_t touches = 4096;  // random, zipf: draws per kernel
  std::uint32_t zipf_exponent_thousandths = 1000;
  std::uint64_t halo_bytes = 65536;    // stencil: read beyond each end of a band; multiple of 4096
  std::uint32_t tile = 128;            // tiled_matmul: edge of a tile in elements
  std::uint32_t element_bytes = 4;     // tiled_matmul, product_tiled, *_per_thread
  std::uint64_t blocks_per_phase = 0;  // tiled_matmul, convolution_per_thread: 0 = one row of tiles, of thread blocks
  std::uint64_t scans = 4;             // repeated_scan: passes inside one kernel
  std::int64_t duration_ns = 0;        // of every kernel; 0 = 2 us + 1 ns per 1000 bytes touched (600 ns per touch
                                       // of pointer_chase)
  std::int64_t host_gap_ns = 0;        // before every kernel
  std::uint32_t grid = 0;              // thread blocks; 0 = the pattern's default
  std::uint32_t block = 256;           // threads per block; product_tiled: a square
  bool host_data = true;               // the host writes every object before the first kernel
};

class SyntheticProgram;

struct GeneratorPattern {
  std::string_view name;
  std::string_view summary;
  std::string_view answer;  // the formula of its known results
  std::unique_ptr<SyntheticProgram> (*make)(const GeneratorOptions& options);
};
std::span<const GeneratorPattern> generator_patterns();

class SyntheticProgram {
 public:
  virtual ~SyntheticProgram() = default;

  const Header& header() const { return header_; }
  bool next(Record& record);  // returns false at the end

  static constexpr std::uint64_t kPageBytes = 4096;

 protected:
  explicit SyntheticProgram(const GeneratorOptions& options);

  // For constructors of patterns. Object i gets id i + 1.
  void add_object(std::uint64_t bytes) { objects_.push_back({bytes}); }
  // Adds device memory, which the host does not touch.
  void add_buffer(std::uint64_t bytes, std::uint64_t device) {
    objects_.push_back({bytes, static_cast<std::int32_t>(device)});
  }

  // Fills in a kernel whose values are defaults except for its launch shape; `index` counts within the repeat.
  // accesses() below helps. A duration of 0 is replaced by the default.
  virtual void fill(std::uint64_t repeat, std::uint64_t index, Kernel& kernel) = 0;
  // The number of records of a repeat; each is a kernel unless the pattern overrides make_step().
  virtual std::uint64_t steps() const { return options_.kernels; }
  virtual void make_step(std::uint64_t repeat, std::uint64_t index, Record& record);

  // Appends pages [first, first + count) of object i to the kernel; the leading write_percent of them are written.
  void add_access(Kernel& kernel, std::size_t object, std::uint64_t first, std::uint64_t count) const;
  std::uint64_t object_pages(std::size_t object) const { return objects_[object].bytes / kPageBytes; }

  const GeneratorOptions options_;

 private:
  enum class Stage : std::uint8_t { kAllocate, kPopulate, kBegin, kKernels, kSync, kEnd, kFree, kDone };
  static constexpr std::int32_t kManaged = -1;
  struct Object {
    std::uint64_t bytes;
    std::int32_t device = kManaged;
  };

  Header header_;
  std::vector<Object> objects_;
  Stage stage_ = Stage::kAllocate;
  std::uint64_t step_ = 0, repeat_ = 0;
  std::uint64_t next_va_;
};

// Throws InputError naming the option for an unknown pattern or a value that the pattern cannot use.
std::unique_ptr<SyntheticProgram> make_program(const GeneratorOptions& options);

}  // namespace uvmsim::trace
