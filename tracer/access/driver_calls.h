// SPDX-License-Identifier: Apache-2.0
// Host events of the log out of the program's driver calls: allocations, copies, sets, hints, synchronisations, the
// profiler's window, and what a launch's callback does not say (stream as the program names it, dynamic shared memory).
// The timing pass records the same calls, so that both logs have the same events in the same order.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "tracer/access/allocations.h"

namespace uvmtrace::access {

// One callback of the API's driver domain. `result` is meaningful on the exit.
struct DriverCall {
  std::uint32_t number = 0;
  bool entry = false;
  const void* parameters = nullptr;
  CUresult result = CUDA_SUCCESS;
};

// The launch call that this thread is in; seq 0: none.
struct PendingLaunch {
  std::uint64_t sequence = 0;
  std::uint64_t stream = 0;  // the handle
  std::uint32_t shared_bytes = 0;
};
PendingLaunch& pending_launch();
// Returns whether this thread is in a call that allocates: then the driver's own report of that memory is not another
// allocation.
bool inside_allocation();

// Numbers operations on the GPU of this process, from 1.
std::uint64_t next_correlation();

enum class CallEffect : std::uint8_t { kNone, kWindowOpened, kWindowClosed, kLaunchReturned };

// Writes what there is to write. The effect is for the caller to act on.
CallEffect on_driver_call(const DriverCall& call, Allocations& allocations);

}  // namespace uvmtrace::access
