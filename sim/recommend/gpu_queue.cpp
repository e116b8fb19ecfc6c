// SPDX-License-Identifier: Apache-2.0
#include "sim/recommend/gpu_queue.h"

#include <utility>

namespace uvmsim::recommend {

trace::Kernel& GpuQueue::add_kernel(const char* name, Stream stream, std::int64_t duration_ns) {
  trace::Kernel kernel;
  kernel.name = name;
  kernel.stream = number(stream);
  kernel.device = device();
  kernel.block.x = 256;
  kernel.grid.x = 1;
  kernel.duration_ns = duration_ns;
  kernel.coverage = trace::Coverage::kDeclared;
  records_.push_back(std::move(kernel));
  return std::get<trace::Kernel>(records_.back());
}

void GpuQueue::allocate(Object object, std::uint64_t bytes) {
  records_.push_back(trace::ObjectAlloc{number(object), trace::ObjectKind::kDevice, bytes, 0, device()});
}

void GpuQueue::allocate_on_host(Object object, std::uint64_t bytes, bool hints) {
  const trace::ObjectId id = number(object);
  records_.push_back(trace::ObjectAlloc{id, trace::ObjectKind::kManaged, bytes, 0, device()});
  records_.push_back(trace::Prefetch{id, 0, bytes, -1, number(Stream::kCompute), 0});
  records_.push_back(trace::Sync{});
  if (!hints) return;
  records_.push_back(trace::Advise{id, 0, bytes, trace::Advice::kSetPreferredLocation, -1});
  records_.push_back(trace::Advise{id, 0, bytes, trace::Advice::kSetAccessedBy, device()});
}

}  // namespace uvmsim::recommend
