// SPDX-License-Identifier: Apache-2.0
#include "sim/llm/recorder.h"

#include <algorithm>
#include <utility>

#include "sim/llm/launch_shapes.h"
#include "sim/trace/kernel_names.h"

namespace uvmsim::llm {
namespace {

using trace::AccessMode;

constexpr std::uint64_t kQuantumBytes = 512;

// Measured: medians of the host's time before a launch in the recorded `llm_generate` (H200, PyTorch 2.11), whose GPU
// waits for the host: within one operator, at the begin of an operator, and in addition at the begin of a module.
constexpr std::int64_t kLaunchNs = 1000, kOperatorNs = 7000, kModuleNs = 11000;

Use use_of(const Tensor& tensor, AccessMode mode) { return {tensor.get(), mode, {}}; }

// Returns stretches as extents in quanta; adjacent ones are merged.
std::vector<trace::Extent> extents_of(const Use& use) {
  std::vector<trace::Extent> extents;
  const auto add = [&](std::uint64_t first_byte, std::uint64_t bytes) {
    if (bytes == 0) return;
    std::uint64_t first = first_byte / kQuantumBytes;
    const std::uint64_t end = (first_byte + bytes + kQuantumBytes - 1) / kQuantumBytes;
    if (!extents.empty()) first = std::max(first, extents.back().first + extents.back().count);
    if (first < end) trace::append_extent(extents, {first, end - first, use.mode});
  };
  if (use.stretches.empty()) add(0, use.storage->bytes());
  for (const Use::Stretch& stretch : use.stretches) add(stretch.first, stretch.bytes);
  return extents;
}

}  // namespace

Storage::~Storage() { recorder_.release(id_, place_); }

Use reads(const Tensor& tensor) { return use_of(tensor, AccessMode::kRead); }
Use reads(const Tensor& tensor, std::uint64_t first, std::uint64_t bytes) {
  return {tensor.get(), AccessMode::kRead, {{first, bytes}}};
}
Use writes(const Tensor& tensor) { return use_of(tensor, AccessMode::kWrite); }
Use updates(const Tensor& tensor) { return use_of(tensor, AccessMode::kReadWrite); }

Tensor Recorder::tensor(std::uint64_t bytes, std::string name) {
  const auto placed = allocator_.allocate(bytes, 0);
  if (placed.new_segment) {
    segments_.resize(std::max<std::size_t>(segments_.size(), placed.segment + 1));
    segments_[placed.segment] = next_id_;
    sink_(trace::ObjectAlloc{next_id_++, trace::ObjectKind::kManaged, placed.segment_bytes, 0, 0});
  }
  trace::TensorAlloc alloc{next_id_++, bytes, 0, segments_[placed.segment], placed.offset, std::move(name)};
  const trace::ObjectId id = alloc.id;
  sink_(std::move(alloc));
  return std::make_shared<const Storage>(*this, id, bytes, placed.id);
}

void Recorder::library_memory(std::uint64_t bytes) {
  sink_(trace::ObjectAlloc{next_id_++, trace::ObjectKind::kManaged, bytes, 0, 0});
}

void Recorder::release(trace::ObjectId id, std::uint64_t place) {
  allocator_.free(place);
  if (!finished_) sink_(trace::TensorFree{id});
}

void Recorder::launch(const Launch& launch) {
  trace::Kernel kernel;
  kernel.name = launch.name;
  kernel.grid = launch.grid;
  const LaunchShape shape = launch_shape(launch.name, number_);
  kernel.block = shape.block;
  kernel.registers_per_thread = shape.registers_per_thread;
  kernel.shared_bytes_per_block = shape.shared_bytes_per_block;
  kernel.distribution = trace::distribution_by_name(launch.name);
  kernel.coverage = trace::Coverage::kDeclared;
  kernel.host_gap_ns = take_host_ns();
  std::uint64_t bytes = 0;
  for (const Use& use : launch.uses) {
    std::vector<trace::Extent> extents = extents_of(use);
    for (const trace::Extent& extent : extents) {
      bytes += extent.count * kQuantumBytes * (use.mode == AccessMode::kReadWrite ? 2 : 1);
    }
    kernel.accesses.push_back({use.storage->id(), std::move(extents)});
  }
  kernel.duration_ns = roofline_.time_ns(launch.work, bytes);
  sink_(std::move(kernel));
}

void Recorder::copy_to_gpu(const Tensor& tensor) {
  sink_(trace::Memcpy{{tensor->id(), 0}, {}, tensor->bytes(), trace::CopyKind::kHostToDevice, 0, true, take_host_ns()});
}

void Recorder::copy_to_host(const Tensor& tensor) {
  sink_(trace::Memcpy{{}, {tensor->id(), 0}, tensor->bytes(), trace::CopyKind::kDeviceToHost, 0, true, take_host_ns()});
}

void Recorder::synchronize() { sink_(trace::Sync{trace::SyncKind::kDevice, 0, 0, take_host_ns()}); }

void Recorder::begin_module(const std::string& name) {
  sink_(trace::Range{trace::RangeKind::kPush, name, 0});
  spend_on_host(kModuleNs);
}
void Recorder::end_module() {
  if (!finished_) sink_(trace::Range{trace::RangeKind::kPop, "", 0});
}
void Recorder::begin_iteration(std::uint64_t index) {
  sink_(trace::Range{trace::RangeKind::kIterationBegin, "", index});
}
void Recorder::end_iteration(std::uint64_t index) { sink_(trace::Range{trace::RangeKind::kIterationEnd, "", index}); }

void Recorder::begin_operator() { spend_on_host(kOperatorNs - kLaunchNs); }

std::int64_t Recorder::take_host_ns() { return std::exchange(host_ns_, 0) + kLaunchNs; }

void Recorder::finish() { finished_ = true; }

}  // namespace uvmsim::llm
