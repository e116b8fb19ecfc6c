// SPDX-License-Identifier: Apache-2.0
// What accesses of a kernel cost that raise no fault: TLB misses, and memory that it uses where it is elsewhere.
#pragma once

#include "sim/engine/driver_stack.h"
#include "sim/engine/kernel_work.h"
#include "sim/engine/process.h"
#include "sim/link/remote_lane.h"

namespace uvmsim::engine {

// What a kernel's accesses to memory of the host, or of another GPU, in place bring over the link, in bytes and
// contiguous pieces: of the pages that the GPU has mapped and that `holder` has instead of it now. Extents count once,
// whole quanta, a contiguous stretch of them one piece; touches count each, repeated ones again (nothing of host memory
// stays in the GPU's L2), as Kernel::bytes_per_thread_access bytes in whole sectors.
link::RemoteTraffic remote_traffic(const KernelWork& work, const trace::Kernel& kernel, const layout::Layout& layout,
                                   const AddressSpace& space, unsigned gpu, ProcessorId holder,
                                   std::uint32_t quantum_bytes);

class AccessCosts {
 public:
  AccessCosts(Process& process, const layout::Layout& layout, DriverStack& driver)
      : process_(process), layout_(layout), driver_(driver), space_(process.machine.space) {}

  Nanoseconds translation_stall(const KernelWork& work, unsigned gpu);
  // What accesses to memory elsewhere add when they may begin at `start`. Access counters see them.
  Nanoseconds remote_time(const KernelWork& work, const trace::Kernel& kernel, Nanoseconds start);

 private:
  void use_host_memory(const KernelWork& work, unsigned gpu);
  void count(const KernelWork& work, unsigned gpu);

  Process& process_;
  const layout::Layout& layout_;
  DriverStack& driver_;
  AddressSpace& space_;
};

}  // namespace uvmsim::engine
