// SPDX-License-Identifier: Apache-2.0
// The costs of a kernel's accesses that raise no fault: TLB misses and accesses to remote-mapped memory.
#pragma once

#include <optional>

#include "sim/engine/coherent_pass.h"
#include "sim/engine/driver_stack.h"
#include "sim/engine/kernel_work.h"
#include "sim/engine/process.h"
#include "sim/link/remote_lane.h"

namespace uvmsim::engine {

// Returns the traffic on the link of a kernel's accesses to pages that the GPU has mapped and that lie at `holder` (the
// host or another GPU), in bytes and contiguous pieces. Extents count whole quanta, a contiguous stretch as one piece,
// as often as the kernel's thread blocks read it (remote_use.h). Every recorded touch counts
// Kernel::bytes_per_thread_access bytes, rounded up to sectors.
link::RemoteTraffic remote_traffic(const KernelWork& work, const trace::Kernel& kernel, const layout::Layout& layout,
                                   const AddressSpace& space, const config::GpuConfig& described, unsigned gpu,
                                   ProcessorId holder, std::uint32_t quantum_bytes, std::uint64_t images);

class AccessCosts {
 public:
  AccessCosts(Process& process, const layout::Layout& layout, DriverStack& driver)
      : process_(process), layout_(layout), driver_(driver), space_(process.machine.space) {}

  Nanoseconds translation_stall(const KernelWork& work, unsigned gpu);
  // Returns the end of a kernel that began at `start` and, without remote accesses, would end at `computed`; it waited
  // `faulted` of that time for the driver. Remote accesses overlap with the compute. Access counters see them.
  // `at_start`: see CoherentPass::end(). `images`: see plan_kernel().
  Nanoseconds remote_end(const KernelWork& work, const trace::Kernel& kernel, Nanoseconds start, Nanoseconds computed,
                         Nanoseconds faulted, const InPlaceAtStart* at_start, std::uint64_t images);
  // Returns the managed pages that a kernel, which will fault, uses in place over a coherent link; without such a link,
  // none.
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
  std::optional<CoherentPass> coherent_pass_;  // if the link is coherent
};

}  // namespace uvmsim::engine
