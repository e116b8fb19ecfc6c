// SPDX-License-Identifier: Apache-2.0
// CPU accesses to managed memory: one fault at a time, one page per fault, the tree prefetcher towards the host.
#pragma once

#include "sim/driver/fault_service.h"
#include "sim/driver/system_memory.h"

namespace uvmsim::driver {

class HostFaults {
 public:
  HostFaults(DriverContext& context, Residency& residency, Thrashing& thrashing)
      : context_(context), residency_(residency), thrashing_(thrashing) {}

  // The CPU touches one page; returns when it may go on. Free when the page is mapped with sufficient permission. A
  // throttled thread only slept: the page is not mapped() then, and the touch is to be repeated at the time returned.
  Nanoseconds touch(BlockIndex block, unsigned page, bool write, Nanoseconds now);
  // A touch that does not fault; false if it would.
  bool access(BlockIndex block, unsigned page, bool write) {
    if (!mapped(block, page, write)) return false;
    if (context_.host_memory.limited()) note_use(block, page, write);
    return true;
  }
  // True if a touch would not fault.
  bool mapped(BlockIndex block, unsigned page, bool write) const {
    if (in_place(block)) return context_.system_memory->cpu_may(block, page, write);
    const ProcessorPages& host = context_.space.pages(block, kHost);
    return write ? host.writable.test(page) : host.mapped.test(page);
  }

 private:
  bool in_place(BlockIndex b) const { return context_.system_memory != nullptr && context_.system_memory->serves(b); }
  void note_use(BlockIndex block, unsigned page, bool write);

  DriverContext& context_;
  Residency& residency_;
  Thrashing& thrashing_;
};

}  // namespace uvmsim::driver
