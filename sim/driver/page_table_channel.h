// SPDX-License-Identifier: Apache-2.0
// The channel through which the driver writes a GPU's page tables and invalidates its TLBs.
//
// Pushes run one after the other. Mapping a block waits for its copies, and every later push waits too. If each block
// of a batch needs a victim, the victim's unmapping, and so its copy to the host, cannot begin before the previously
// served block has arrived. (NVIDIA UVM, uvm_channel.c: a push takes the first channel of its type with room.)
#pragma once

#include <algorithm>

#include "sim/common/state_digest.h"
#include "sim/common/units.h"

namespace uvmsim::driver {

class PageTableChannel {
 public:
  // Runs a push that the driver issues at `issued` and that takes `duration` after the earlier pushes. Returns its end.
  Nanoseconds push(Nanoseconds issued, Nanoseconds duration) {
    return busy_until_ = std::max(busy_until_, issued) + duration;
  }
  // Runs a push that waits for copies and ends with them, at `end`.
  void push_until(Nanoseconds end) { busy_until_ = std::max(busy_until_, end); }

  void add_state(StateDigest& digest) const { digest.add_future(busy_until_); }

 private:
  Nanoseconds busy_until_{};
};

}  // namespace uvmsim::driver
