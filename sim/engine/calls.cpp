// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/calls.h"

#include <algorithm>
#include <limits>
#include <variant>

#include "sim/common/error.h"

namespace uvmsim::engine {

namespace {

// CUDA copies and fills managed memory by kernels on all SMs, not by copy engines. Measured on an H200
// (tracer/ground_truth/copies.cu): a block of a copy has the next 4 KB; from or to pageable memory there is a kernel
// per MiB, the size of a staging buffer; a block of a fill has 2 KB in each quarter of the memory.
constexpr std::uint64_t kCopiedPerBlock = 4096, kStagedBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kFilledPerBlock = 2048, kFillParts = 4;
constexpr std::uint32_t kBytesPerAccess = 16;

// Block b touches the bytes from b * bytes_per_block on and goes on at a distance of `stride_bytes`.
trace::Kernel moving_kernel(const char* name, unsigned gpu, std::uint32_t stream, std::uint64_t bytes,
                            std::uint64_t stride_bytes, std::uint64_t bytes_per_block, std::uint64_t bytes_per_us) {
  trace::Kernel kernel;
  kernel.device = static_cast<std::int32_t>(gpu);
  kernel.name = name;
  kernel.stream = stream;
  const std::uint64_t blocks = (stride_bytes + bytes_per_block - 1) / bytes_per_block;
  kernel.grid = {
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(blocks, 1, std::numeric_limits<std::int32_t>::max())), 1, 1};
  kernel.block = {static_cast<std::uint32_t>(bytes_per_block / kBytesPerAccess), 1, 1};
  kernel.distribution = trace::Distribution::kGridStride;
  kernel.bytes_per_thread_access = kBytesPerAccess;
  kernel.duration_ns = static_cast<std::int64_t>(bytes * 1000 / std::max<std::uint64_t>(bytes_per_us, 1));
  return kernel;
}

void add_access(trace::Kernel& kernel, const layout::Layout& layout, trace::ObjectId id, std::uint64_t offset,
                std::uint64_t bytes, std::uint64_t quantum_bytes, trace::AccessMode mode) {
  check_bytes(layout, id, offset, bytes);
  if (!layout.find(id).managed) return;
  const std::uint64_t first = offset / quantum_bytes;
  const std::uint64_t count = (offset + bytes + quantum_bytes - 1) / quantum_bytes - first;
  kernel.accesses.push_back({id, {{first, count, mode}}});
}

}  // namespace

std::int64_t host_gap_ns(const trace::Record& record) {
  return std::visit(
      [](const auto& r) -> std::int64_t {
        if constexpr (requires { r.host_gap_ns; }) {
          return r.host_gap_ns;
        } else {
          return 0;
        }
      },
      record);
}

void check_bytes(const layout::Layout& layout, trace::ObjectId id, std::uint64_t offset, std::uint64_t bytes) {
  const layout::Placement& placement = layout.find(id);
  if (offset > placement.bytes || bytes > placement.bytes - offset) {
    throw_input_error("bytes {} to {} lie outside object {} ({} bytes)", offset, offset + bytes, id, placement.bytes);
  }
}

std::vector<driver::BlockSpan> used_spans_of(const layout::Layout& layout, const AddressSpace& space,
                                             trace::ObjectId id, std::uint64_t offset, std::uint64_t bytes) {
  const layout::Placement& placement = layout.find(id);
  std::vector<driver::BlockSpan> spans;
  if (!placement.managed || bytes == 0) return spans;
  const std::uint64_t first = placement.first_page(offset), end = placement.end_page(offset + bytes);
  placement.blocks.for_each_run([&](const layout::BlockList::Run& run) {
    space.for_each_used(run.first, run.count, [&](BlockIndex block) {
      const std::uint64_t before = (run.at + (block.value - run.first.value)) * kPagesPerBlock;
      const std::uint64_t from = std::max(first, before), to = std::min(end, before + kPagesPerBlock);
      if (from >= to) return;
      spans.push_back({block, static_cast<unsigned>(from - before), static_cast<unsigned>(to - from)});
    });
  });
  return spans;
}

std::vector<driver::BlockSpan> spans_of(const layout::Layout& layout, trace::ObjectId id, std::uint64_t offset,
                                        std::uint64_t bytes) {
  check_bytes(layout, id, offset, bytes);
  const layout::Placement& placement = layout.find(id);
  std::vector<driver::BlockSpan> spans;
  if (!placement.managed || bytes == 0) return spans;
  placement.for_each_part(placement.first_page(offset), placement.end_page(offset + bytes),
                          [&](BlockIndex block, unsigned first, unsigned count) {
                            spans.push_back({block, first, count});
                          });
  return spans;
}

std::size_t part_count(const trace::HostAccess& access) { return access.extents.size() + access.touches.size(); }

HostTouch touch_of(const trace::HostAccess& access, std::size_t part, const layout::Placement& placement,
                   std::uint64_t quantum_bytes) {
  trace::Extent extent;
  if (part < access.extents.size()) {
    extent = access.extents[part];
  } else {
    const auto& [at, mode] = access.touches[part - access.extents.size()];
    extent = {at, 1, mode};
  }
  const bool write = extent.mode != trace::AccessMode::kRead;
  if (extent.count == 0) return {{}, write};
  if (extent.first * quantum_bytes >= placement.bytes || extent.first + extent.count < extent.first ||
      (extent.first + extent.count - 1) * quantum_bytes >= placement.bytes) {
    throw_input_error("CPU touch of object {} past its end ({} bytes)", access.object, placement.bytes);
  }
  const std::uint64_t end = std::min((extent.first + extent.count) * quantum_bytes, placement.bytes);
  return {{placement.first_page(extent.first * quantum_bytes), placement.end_page(end)}, write};
}

trace::Kernel kernel_of(const trace::Memset& set, const layout::Layout& layout, std::uint64_t quantum_bytes,
                        const config::SystemConfig& system, unsigned gpu) {
  trace::Kernel kernel = moving_kernel("memset", gpu, set.stream, set.bytes, set.bytes / kFillParts, kFilledPerBlock,
                                       system.gpus[gpu].memory_bytes_per_us);
  add_access(kernel, layout, set.object, set.offset, set.bytes, quantum_bytes, trace::AccessMode::kWrite);
  return kernel;
}

trace::Kernel kernel_of(const trace::Memcpy& copy, const layout::Layout& layout, std::uint64_t quantum_bytes,
                        const config::SystemConfig& system, unsigned gpu) {
  const bool from_host = copy.kind == trace::CopyKind::kHostToDevice || copy.kind == trace::CopyKind::kHostToHost;
  const bool to_host = copy.kind == trace::CopyKind::kDeviceToHost || copy.kind == trace::CopyKind::kHostToHost;
  std::uint64_t bandwidth = system.gpus[gpu].memory_bytes_per_us / 2;
  if (from_host || to_host) {
    bandwidth = system.host.pageable_copy_bytes_per_us != 0 ? system.host.pageable_copy_bytes_per_us
                                                            : system.host_links[gpu].host_to_device.bytes_per_us;
  }
  const auto is_pinned = [&](const trace::CopyEnd& end) {
    return end.object != trace::kNoObject && layout.find(end.object).is_pinned;
  };
  if (from_host && is_pinned(copy.src)) bandwidth = system.host_links[gpu].host_to_device.bytes_per_us;
  if (to_host && !from_host && is_pinned(copy.dst)) bandwidth = system.host_links[gpu].device_to_host.bytes_per_us;
  const bool is_staged = (from_host && !is_pinned(copy.src)) || (to_host && !is_pinned(copy.dst));
  trace::Kernel kernel =
      moving_kernel("memcpy", gpu, copy.stream, copy.bytes, is_staged ? std::min(copy.bytes, kStagedBytes) : copy.bytes,
                    kCopiedPerBlock, bandwidth);
  const auto touch = [&](const trace::CopyEnd& end, trace::AccessMode mode) {
    if (copy.bytes == 0 || end.object == trace::kNoObject || !layout.find(end.object).managed) return;
    add_access(kernel, layout, end.object, end.offset, copy.bytes, quantum_bytes, mode);
  };
  if (!from_host) touch(copy.src, trace::AccessMode::kRead);
  if (!to_host) touch(copy.dst, trace::AccessMode::kWrite);
  return kernel;
}

}  // namespace uvmsim::engine
