// SPDX-License-Identifier: Apache-2.0
// Programs whose every access is known: one allocation, touched in a stated way.
#include <algorithm>

#include "sim/common/error.h"
#include "sim/common/units.h"
#include "sim/import/access_set.h"
#include "sim/validate/experiment_program.h"

namespace uvmsim::validate {

namespace {

constexpr std::uint32_t kStreamThreads = 256;
constexpr std::uint32_t kFloat4Bytes = 16;

// The kernel of a `cpu` experiment writes the allocation with a grid-stride loop whose grid the file does not contain.
// Where data moves, the first batch shows it: every block stalls on its own 4 KB page. Elsewhere one block per SM of
// the measured GPU is assumed, as the first batches of those experiments show (they grow to 256 pages at once).
std::uint32_t grid_of_cpu_experiment(const Experiment& experiment, const config::GpuConfig& gpu) {
  if (experiment.grid_blocks != 0) return experiment.grid_blocks;
  std::int64_t first_replay = 0;
  std::uint64_t faulted_bytes = 0;
  for (const MeasuredEvent& event : experiment.events) {
    if (event.kind == EventKind::kFaultBatch && first_replay == 0) first_replay = event.end_ns;
    const bool in_first_batch = first_replay == 0 || event.start_ns < first_replay;
    if (event.kind == EventKind::kHostToDevice && event.flags == 2 && in_first_batch) faulted_bytes += event.value;
  }
  const std::uint64_t pages = faulted_bytes / kBasePageBytes;
  return pages == 0 ? std::max(gpu.sm_count, 1u) : static_cast<std::uint32_t>(std::min<std::uint64_t>(pages, 1u << 20));
}

}  // namespace

void ProgramBuilder::add_known_access() {
  add_advice();
  for (const ByteRange& range : experiment_.host_populated) add_host_access(0, range, trace::AccessMode::kWrite);
  for (const ByteRange& range : experiment_.gpu_resident) add_prefetch(0, range, trace::Device::kGpu0);
  for (const ByteRange& range : experiment_.peer_resident) add_prefetch(0, range, kPeer);
  begin_measurement();
  switch (experiment_.mode) {
    case Mode::kOrdered:
    case Mode::kParallel:
      add_touch_kernel();
      break;
    case Mode::kStreamRead:
      add_stream_kernel(experiment_.grid_blocks, true, false);
      break;
    case Mode::kStreamWrite:
      add_stream_kernel(experiment_.grid_blocks, false, true);
      break;
    case Mode::kVectorAdd:
      add_vector_add();
      break;
    case Mode::kCpu:
      add_cpu_exchange();
      break;
    case Mode::kPrefetch:
      add_measured_prefetches();
      break;
    case Mode::kLibrary:
    case Mode::kRemote:
    case Mode::kCampaign:
      break;
  }
  end_measurement();
}

void ProgramBuilder::add_touch_kernel() {
  const bool ordered = experiment_.mode != Mode::kParallel;
  const std::uint32_t threads = ordered ? 1 : experiment_.threads_per_block;
  trace::Kernel kernel;
  kernel.name = experiment_.name;
  kernel.block.x = threads;
  if (!ordered) kernel.grid.x = static_cast<std::uint32_t>((experiment_.touches.size() + threads - 1) / threads);
  kernel.distribution = trace::Distribution::kThreadChunk;
  kernel.duration_ns = kLaunchNs;
  if (experiment_.kernels.size() == 1 && experiment_.kernels[0].native_ns > 0) {
    kernel.duration_ns = experiment_.kernels[0].native_ns;
  }
  const std::uint64_t quanta_per_page = kBasePageBytes / program_.header.quantum_bytes;
  trace::AccessSet touched;
  for (const PageTouch& touch : experiment_.touches) {
    const std::uint64_t quantum = touch.page * quanta_per_page;
    kernel.touches.push_back({0, quantum, touch.mode});
    touched.add(object_id(0), quantum, quantum + 1, touch.mode);
  }
  kernel.accesses = touched.take();
  program_.records.emplace_back(std::move(kernel));
}

// Adds a grid-stride loop, which takes `estimate_ns` on resident data unless that was measured.
void ProgramBuilder::add_loop(std::uint32_t grid_blocks, std::uint32_t threads, std::uint32_t access_bytes,
                              std::int64_t estimate_ns, std::vector<trace::ObjectAccess> accesses) {
  trace::Kernel kernel;
  kernel.name = experiment_.name;
  kernel.grid.x = grid_blocks;
  kernel.block.x = threads;
  kernel.distribution = trace::Distribution::kGridStride;
  kernel.bytes_per_thread_access = access_bytes;
  const std::int64_t native_ns = experiment_.kernels[0].native_ns;
  kernel.duration_ns = native_ns > 0 ? native_ns : estimate_ns;
  kernel.accesses = std::move(accesses);
  program_.records.emplace_back(std::move(kernel));
}

void ProgramBuilder::add_stream_kernel(std::uint32_t grid_blocks, bool reads, bool writes) {
  const std::int64_t estimate = stream_ns(experiment_.allocations[0].bytes, grid_blocks, reads, system_.gpus[0]);
  const auto mode = static_cast<trace::AccessMode>((reads ? 1 : 0) | (writes ? 2 : 0));
  add_loop(grid_blocks, experiment_.loop_threads, experiment_.access_bytes, estimate,
           {{object_id(0), {extent(whole(0), mode)}}});
}

void ProgramBuilder::add_vector_add() {
  const std::uint64_t part = experiment_.allocations[0].bytes / 3;
  const std::uint32_t grid = experiment_.grid_blocks;
  // One operand per array, in the order in which a thread touches them.
  add_loop(grid, kStreamThreads, kFloat4Bytes, stream_ns(part * 3, grid * 3, true, system_.gpus[0]),
           {{object_id(0), {extent({0, part}, trace::AccessMode::kRead)}},
            {object_id(0), {extent({part, part}, trace::AccessMode::kRead)}},
            {object_id(0), {extent({2 * part, part}, trace::AccessMode::kWrite)}}});
}

// The event stream shows what the program did: kernels, and between them the CPU's faults. Faults in ascending order
// come from a loop over the whole allocation; otherwise the faulted pages are replayed in their order.
void ProgramBuilder::add_cpu_exchange() {
  const std::uint32_t grid = grid_of_cpu_experiment(experiment_, system_.gpus[0]);
  const std::uint64_t quanta_per_page = kBasePageBytes / program_.header.quantum_bytes;
  for (std::size_t i = 0; i < experiment_.kernels.size(); ++i) {
    add_stream_kernel(grid, false, true);
    add_sync();
    const std::int64_t from = experiment_.kernels[i].end_ns;
    const bool last = i + 1 == experiment_.kernels.size();
    trace::HostAccess access;
    access.object = object_id(0);
    trace::AccessMode mode = trace::AccessMode::kRead;
    for (const MeasuredEvent& event : experiment_.events) {
      if (event.kind != EventKind::kCpuFault || event.start_ns < from || event.offset < 0) continue;
      if (!last && event.start_ns >= experiment_.kernels[i + 1].start_ns) continue;
      if (event.flags == 2) mode = trace::AccessMode::kWrite;
      const auto page = static_cast<std::uint64_t>(event.offset) / kBasePageBytes;
      if (page * kBasePageBytes >= experiment_.allocations[0].bytes) continue;
      access.touches.emplace_back(page * quanta_per_page, trace::AccessMode::kRead);
    }
    if (access.touches.empty()) continue;
    if (std::is_sorted(access.touches.begin(), access.touches.end())) {
      add_host_access(0, whole(0), mode);
      continue;
    }
    for (auto& touch : access.touches) touch.second = mode;
    program_.records.emplace_back(std::move(access));
  }
}

// Adds prefetches to the GPU and back, as far as the event stream shows them; then the touches, if any.
void ProgramBuilder::add_measured_prefetches() {
  bool to_gpu = false, to_host = false;
  for (const MeasuredEvent& event : experiment_.events) {
    to_gpu |= event.kind == EventKind::kHostToDevice || event.kind == EventKind::kDeviceToDevice;
    to_host |= event.kind == EventKind::kDeviceToHost;
  }
  if (to_gpu || !to_host) add_prefetch(0, whole(0), trace::Device::kGpu0);
  add_sync();
  if (to_host) add_prefetch(0, whole(0), trace::Device::kHost);
  add_sync();
  if (!experiment_.touches.empty() && !experiment_.kernels.empty()) add_touch_kernel();
}

}  // namespace uvmsim::validate
