// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/program.h"

#include <algorithm>

namespace uvmsim {

config::SystemConfig plain_system() {
  config::SystemConfig system;
  system.name = "plain";
  config::GpuConfig gpu;
  gpu.model = "plain";
  gpu.memory_bytes = std::uint64_t{64} << 30;
  gpu.sm_count = 4;
  gpu.memory_bytes_per_us = 1000000;
  system.gpus.push_back(gpu);
  config::LinkConfig link;
  link.kind = "pcie";
  link.host_to_device = {1000, 1000, 10000};
  link.device_to_host = {1000, 1000, 10000};
  link.zero_copy_read_bytes_per_us = 10000;
  link.zero_copy_write_bytes_per_us = 10000;
  system.host_links.push_back(link);
  return system;
}

RunOptions options_with(std::uint64_t chunks) {
  RunOptions options;
  options.system = plain_system();
  options.limited = chunks != 0;
  options.capacity_bytes = chunks * kBlockBytes;
  return options;
}

std::uint64_t bytes_in(const Counters& c) {
  return c.htod_fault_bytes + c.htod_prefetch_bytes + c.htod_user_bytes + c.htod_counter_bytes;
}
std::uint64_t bytes_out(const Counters& c) {
  return c.dtoh_fault_bytes + c.dtoh_prefetch_bytes + c.dtoh_user_bytes + c.dtoh_evict_bytes;
}

trace::ObjectId Program::alloc(std::uint64_t bytes) {
  bytes_.push_back(bytes);
  trace::ObjectAlloc object;
  object.id = bytes_.size();
  object.bytes = bytes;
  object.va = next_va_;
  next_va_ += (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  add(object);
  return object.id;
}

trace::ObjectId Program::alloc_tensor(std::uint64_t bytes) {
  bytes_.push_back(bytes);
  add(trace::TensorAlloc{bytes_.size(), bytes, 0, trace::kNoObject, 0, "t"});
  return bytes_.size();
}

void Program::host(trace::ObjectId id, trace::AccessMode mode) { host(id, 0, pages(id), mode); }

void Program::host(trace::ObjectId id, std::uint64_t first, std::uint64_t count, trace::AccessMode mode,
                   std::int64_t gap_ns) {
  trace::HostAccess access;
  access.object = id;
  access.extents = {{first, count, mode}};
  access.host_gap_ns = gap_ns;
  add(access);
}

trace::Kernel& Program::kernel(const std::string& name, std::int64_t duration_ns, std::vector<trace::ObjectId> reads,
                               std::vector<trace::ObjectId> writes, std::uint32_t stream) {
  trace::Kernel kernel;
  kernel.name = name;
  kernel.stream = stream;
  kernel.duration_ns = duration_ns;
  kernel.block.x = 256;
  std::uint64_t longest = 1;
  for (const trace::ObjectId id : reads) {
    kernel.accesses.push_back({id, {{0, pages(id), trace::AccessMode::kRead}}});
    longest = std::max(longest, bytes(id));
  }
  for (const trace::ObjectId id : writes) {
    kernel.accesses.push_back({id, {{0, pages(id), trace::AccessMode::kWrite}}});
    longest = std::max(longest, bytes(id));
  }
  kernel.grid.x = static_cast<std::uint32_t>((longest + kPage - 1) / kPage);  // a page per thread block
  return add(kernel);
}

trace::Kernel& Program::walk(const std::string& name, trace::ObjectId id, std::uint64_t first, std::uint64_t count,
                             trace::AccessMode mode) {
  trace::Kernel kernel;
  kernel.name = name;
  kernel.distribution = trace::Distribution::kThreadChunk;
  kernel.accesses.push_back({id, {{first, count, mode}}});
  for (std::uint64_t i = 0; i < count; ++i) kernel.touches.push_back({0, first + i, mode});
  return add(kernel);
}

RecordSource Program::source() const {
  return [this, next = std::size_t{0}](trace::Record& record) mutable {
    if (next == records_.size()) return false;
    record = records_[next++];
    return true;
  };
}

trace::Header Program::header() {
  trace::Header header;
  header.quantum_bytes = kPage;
  return header;
}

RunResult Program::run(const RunOptions& options, EventSink* events) const {
  RunObserver observer;
  observer.events = events;
  observer.reopen = [this] { return source(); };
  return simulate(header(), source(), options, observer);
}

}  // namespace uvmsim
