// SPDX-License-Identifier: Apache-2.0
// Service of CPU faults on managed memory: one page per fault, one after the other, with the tree prefetcher.
#pragma once

#include "sim/driver/fault_service.h"
#include "sim/driver/system_memory.h"

namespace uvmsim::driver {

class HostFaults {
 public:
  HostFaults(DriverContext& context, Residency& residency, Thrashing& thrashing)
      : context_(context), residency_(residency), thrashing_(thrashing) {}

  // Touches one page; returns when the CPU may go on, which is `now` if the page is mapped with enough permission. If
  // the thread was throttled, the page is not mapped() then, and the caller must repeat the touch at that time.
  Nanoseconds touch(BlockIndex block, unsigned page, bool write, Nanoseconds now);
  // Touches a page that is mapped; returns false if the touch would fault.
  bool access(BlockIndex block, unsigned page, bool write) {
    if (!mapped(block, page, write)) return false;
    if (context_.host_memory.limited()) note_use(block, page, write);
    return true;
  }
  // Returns true if a touch would not fault.
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
