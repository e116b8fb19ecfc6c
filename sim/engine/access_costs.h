// SPDX-License-Identifier: Apache-2.0
// What accesses of a kernel cost that raise no fault: TLB misses, and memory that it uses where it is elsewhere.
#pragma once

#include <optional>

#include "sim/engine/coherent_pass.h"
#include "sim/engine/driver_stack.h"
#include "sim/engine/kernel_work.h"
#include "sim/engine/process.h"
#include "sim/link/remote_lane.h"

namespace uvmsim::engine {

// What a kernel's accesses to memory of the host, or of another GPU, in place bring over the link, in bytes and
// contiguous pieces: of the pages that the GPU has mapped and that `holder` has instead of it now. Extents count whole
// quanta, a contiguous stretch of them one piece, as often as the kernel's blocks bring them (remote_use.h); touches
// count each, repeated ones again, as Kernel::bytes_per_thread_access bytes in whole sectors.
link::RemoteTraffic remote_traffic(const KernelWork& work, const trace::Kernel& kernel, const layout::Layout& layout,
                                   const AddressSpace& space, const config::GpuConfig& described, unsigned gpu,
                                   ProcessorId holder, std::uint32_t quantum_bytes, std::uint64_t images);

class AccessCosts {
 public:
  AccessCosts(Process& process, const layout::Layout& layout, DriverStack& driver)
      : process_(process), layout_(layout), driver_(driver), space_(process.machine.space) {}

  Nanoseconds translation_stall(const KernelWork& work, unsigned gpu);
  // When a kernel that began at `start` and has computed at `computed` ends, its accesses to memory elsewhere included:
  // they pass meanwhile. Access counters see them. Of its time it waited `faulted` for the driver; `at_start`: see
  // CoherentPass::end(). `images`: as plan_kernel() takes it.
  Nanoseconds remote_end(const KernelWork& work, const trace::Kernel& kernel, Nanoseconds start, Nanoseconds computed,
                         Nanoseconds faulted, const InPlaceAtStart* at_start, std::uint64_t images);
  // What of managed memory a kernel that will fault uses in place over a coherent link; else nothing.
  InPlaceAtStart in_place_at_start(const KernelWork& work, unsigned gpu);

 private:
  CoherentPass* coherent_pass();
  void use_host_memory(const KernelWork& work, unsigned gpu);
  Nanoseconds waiting(const link::RemoteTraffic& traffic, const trace::Kernel& kernel, const link::RemoteLane& lane,
                      const config::GpuConfig& described) const;
  void count(const KernelWork& work, const trace::Kernel& kernel, unsigned gpu, std::uint64_t images);

  Process& process_;
  const layout::Layout& layout_;
  DriverStack& driver_;
  AddressSpace& space_;
  std::optional<CoherentPass> coherent_pass_;  // where the link is coherent
};

}  // namespace uvmsim::engine
