// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/experiment_program.h"

#include <algorithm>

#include "sim/common/error.h"
#include "sim/common/units.h"

namespace uvmsim::validate {

namespace {

constexpr std::uint64_t kFirstAddress = std::uint64_t{0x7f00} << 32;

// Returns the largest quantum in which the 4 KB pages of every allocation begin and end on quantum boundaries.
std::uint32_t quantum_of(const Experiment& experiment) {
  std::uint64_t offsets = kBasePageBytes;
  for (const Allocation& allocation : experiment.allocations) offsets |= allocation.offset_in_block;
  return static_cast<std::uint32_t>(offsets & (~offsets + 1));  // lowest set bit
}

// The CUDA driver packs allocations below 2 MB into shared blocks of 2 MB; the measured offsets show the placement.
class AddressPlan {
 public:
  std::uint64_t place(const Allocation& allocation) {
    const std::uint64_t begin = allocation.offset_in_block, end = begin + allocation.bytes;
    if (allocation.bytes >= kBlockBytes) return reserve(end) + begin;
    const auto overlaps = [&](const ByteRange& other) {
      return begin < other.offset + other.bytes && other.offset < end;
    };
    if (shared_ == 0 || end > kBlockBytes || std::any_of(taken_.begin(), taken_.end(), overlaps)) {
      shared_ = reserve(end);
      taken_.clear();
    }
    taken_.push_back({begin, allocation.bytes});
    return shared_ + begin;
  }

 private:
  // Reserves a fresh run of whole blocks.
  std::uint64_t reserve(std::uint64_t bytes) {
    const std::uint64_t base = next_;
    next_ += (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    return base;
  }

  std::uint64_t next_ = kFirstAddress;
  std::uint64_t shared_ = 0;
  std::vector<ByteRange> taken_;
};

struct AdviceRecord {
  const char* name;
  trace::Advice advice;
  trace::Device device;
};
constexpr AdviceRecord kAdvice[] = {
    {"preferred_host", trace::Advice::kSetPreferredLocation, trace::Device::kHost},
    {"preferred_gpu", trace::Advice::kSetPreferredLocation, trace::Device::kGpu0},
    {"preferred_peer", trace::Advice::kSetPreferredLocation, kPeer},
    {"accessed_by_gpu", trace::Advice::kSetAccessedBy, trace::Device::kGpu0},
    {"accessed_by_peer", trace::Advice::kSetAccessedBy, kPeer},
    {"accessed_by_host", trace::Advice::kSetAccessedBy, trace::Device::kHost},
    {"read_mostly", trace::Advice::kSetReadMostly, trace::Device::kGpu0},
};

}  // namespace

ProgramBuilder::ProgramBuilder(const Experiment& experiment, const config::SystemConfig& system)
    : experiment_(experiment), system_(system) {
  program_.header.quantum_bytes = quantum_of(experiment);
  program_.header.tool = "uvmsim validate";
  program_.header.program = experiment.name;
  allocate();
}

void ProgramBuilder::allocate() {
  AddressPlan plan;
  for (std::size_t i = 0; i < experiment_.allocations.size(); ++i) {
    const Allocation& allocation = experiment_.allocations[i];
    trace::ObjectAlloc record;
    record.id = object_id(i);
    record.bytes = allocation.bytes;
    record.va = plan.place(allocation);
    program_.addresses.push_back(record.va);
    program_.records.emplace_back(record);
  }
}

void ProgramBuilder::add_advice() {
  for (const std::string& name : experiment_.advice) {
    for (const AdviceRecord& known : kAdvice) {
      if (name != known.name) continue;
      trace::Advise record;
      record.object = object_id(0);
      record.bytes = experiment_.allocations[0].bytes;
      record.advice = known.advice;
      record.device = static_cast<std::int32_t>(known.device);
      program_.records.emplace_back(record);
    }
  }
}

void ProgramBuilder::begin_measurement() {
  add_sync();
  program_.records.emplace_back(trace::Range{trace::RangeKind::kIterationBegin, "measured", 0});
}

void ProgramBuilder::end_measurement() {
  add_sync();
  program_.records.emplace_back(trace::Range{trace::RangeKind::kIterationEnd, "measured", 0});
}

trace::Extent ProgramBuilder::extent(ByteRange range, trace::AccessMode mode) const {
  const std::uint64_t quantum = program_.header.quantum_bytes;
  const std::uint64_t first = range.offset / quantum;
  return {first, (range.offset + range.bytes + quantum - 1) / quantum - first, mode};
}

void ProgramBuilder::add_host_access(std::size_t allocation, ByteRange range, trace::AccessMode mode) {
  trace::HostAccess record;
  record.object = object_id(allocation);
  record.extents.push_back(extent(range, mode));
  program_.records.emplace_back(std::move(record));
}

void ProgramBuilder::add_prefetch(std::size_t allocation, ByteRange range, trace::Device destination) {
  trace::Prefetch record;
  record.object = object_id(allocation);
  record.offset = range.offset;
  record.bytes = range.bytes;
  record.destination = static_cast<std::int32_t>(destination);
  program_.records.emplace_back(record);
}

void ProgramBuilder::add_sync() { program_.records.emplace_back(trace::Sync{}); }

Program make_program(const Experiment& experiment, const config::SystemConfig& system) {
  const std::size_t gpus = experiment.peer_resident.empty() ? 1 : 2;
  if (system.gpus.size() < gpus) {
    throw_input_error("it needs {} GPUs; system '{}' has {}", gpus, system.name, system.gpus.size());
  }
  ProgramBuilder builder(experiment, system);
  if (experiment.mode == Mode::kLibrary || experiment.mode == Mode::kRemote) {
    builder.add_library_call();
  } else {
    builder.add_known_access();
  }
  return builder.take();
}

}  // namespace uvmsim::validate
