// SPDX-License-Identifier: Apache-2.0
// What accesses of a kernel cost that raise no fault: TLB misses, and memory that it uses where it is elsewhere.
#pragma once

#include "sim/engine/driver_stack.h"
#include "sim/engine/kernel_work.h"
#include "sim/engine/process.h"

namespace uvmsim::engine {

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
