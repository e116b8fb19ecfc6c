// SPDX-License-Identifier: Apache-2.0
// Decides what happens to a repetition of an iteration when it begins: its result may be known already (recurrence.h),
// or the run may have settled (settled.h).
#pragma once

#include <cstdint>
#include <optional>

#include "sim/engine/driver_stack.h"
#include "sim/engine/host_thread.h"
#include "sim/engine/iterations.h"
#include "sim/engine/streams.h"

namespace uvmsim::engine {

class Repetition {
 public:
  Repetition(Process& process, layout::Layout& layout, DriverStack& driver, Streams& streams, HostThread& host,
             Iterations& iterations)
      : process_(process), layout_(layout), driver_(driver), streams_(streams), host_(host), iterations_(iterations) {}

  // Call before the first record of a repetition.
  void before();
  // Returns a digest of the model's state, as far as the process depends on it; absent if that cannot be compared.
  std::optional<StateDigest::Value> digest_of_state();

 private:
  void look_for_recurrence();
  bool stops_when_settled() const;
  bool has_settled();
  void leave_out(const Recurrence::Earlier& earlier, std::uint64_t times);

  Process& process_;
  layout::Layout& layout_;
  DriverStack& driver_;
  Streams& streams_;
  HostThread& host_;
  Iterations& iterations_;
};

}  // namespace uvmsim::engine
