// SPDX-License-Identifier: Apache-2.0
#include "sim/generate/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sim/common/error.h"
#include "sim/common/units.h"
#include "sim/generate/generate_patterns.h"
#include "sim/trace/limits.h"
#include "sim/trace/names.h"

namespace uvmsim::trace {

namespace {

constexpr std::uint64_t kFirstAddress = 0x7f0000000000;
constexpr std::uint64_t kMaxRepeats = 1000000000;

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
  std::uint64_t phase_pages = 0;
  for (const Phase& phase : kernel.phases) phase_pages += touched_quanta(phase.accesses);
  return std::max(touched_quanta(kernel.accesses), phase_pages) * SyntheticProgram::kPageBytes;
}

}  // namespace

std::span<const GeneratorPattern> generator_patterns() {
  static const std::vector<GeneratorPattern> patterns = [] {
    std::vector<GeneratorPattern> all;
    for (const auto& some :
         {scan_patterns(), random_patterns(), block_patterns(), element_patterns(), pipeline_patterns()}) {
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }();
  return patterns;
}

std::unique_ptr<SyntheticProgram> make_program(const GeneratorOptions& options) {
  std::vector<std::string_view> names;
  for (const GeneratorPattern& pattern : generator_patterns()) {
    if (pattern.name == options.pattern) {
      check_options(options);
      return pattern.make(options);
    }
    names.push_back(pattern.name);
  }
  throw_input_error("unknown pattern '{}'{}", printable(options.pattern), allowed_hint(options.pattern, names));
}

SyntheticProgram::SyntheticProgram(const GeneratorOptions& options) : options_(options), next_va_(kFirstAddress) {
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
          record.emplace<ObjectAlloc>() = {step_ + 1, managed ? ObjectKind::kManaged : ObjectKind::kDevice, bytes,
                                           next_va_, managed ? 0 : device};
          next_va_ += (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
          ++step_;
          return true;
        }
        advance(options_.host_data ? Stage::kPopulate : Stage::kBegin);
        break;
      case Stage::kPopulate:
        if (step_ < objects_.size() && objects_[step_].device == kManaged) {
          auto& access = record.emplace<HostAccess>();
          access.object = step_ + 1;
          access.extents.push_back({0, object_pages(step_), AccessMode::kWrite});
          ++step_;
          return true;
        }
        advance(Stage::kBegin);
        break;
      case Stage::kBegin:
        if (repeat_ == options_.repeats) {
          advance(Stage::kFree);
          break;
        }
        record.emplace<Range>() = {RangeKind::kIterationBegin, "", repeat_};
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
        record.emplace<Sync>();
        advance(Stage::kEnd);
        return true;
      case Stage::kEnd:
        record.emplace<Range>() = {RangeKind::kIterationEnd, "", repeat_};
        ++repeat_;
        advance(Stage::kBegin);
        return true;
      case Stage::kFree:
        if (step_ < objects_.size()) {
          record.emplace<ObjectFree>().id = ++step_;
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
  auto& kernel = record.emplace<Kernel>();
  kernel.name = options_.pattern;
  kernel.block.x = options_.block;
  kernel.host_gap_ns = options_.host_gap_ns;
  kernel.coverage = Coverage::kDeclared;
  kernel.grid.x = 0;
  fill(repeat, index, kernel);
  const std::uint64_t bytes = touched_bytes(kernel);
  if (options_.grid != 0 && kernel.phases.empty()) kernel.grid.x = options_.grid;
  if (kernel.grid.x == 0) {
    // 16 bytes per thread, as in a float4 copy.
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

std::uint64_t element_bytes_of(const GeneratorOptions& options) {
  const std::uint64_t e = options.element_bytes;
  if (e != 1 && e != 2 && e != 4 && e != 8) throw_input_error("element-bytes is {}; allowed: 1, 2, 4, 8", e);
  return e;
}

}  // namespace uvmsim::trace
