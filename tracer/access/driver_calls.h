// SPDX-License-Identifier: Apache-2.0
// Turns the program's driver calls into host events of the log: allocations, copies, sets, hints, synchronisations, the
// profiler's window, and properties of launches that their callback does not have (stream as the program names it,
// dynamic shared memory). The timing pass records the same calls, so that both logs have the same events in the same
// order.
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

// The launch call that this thread is executing; seq 0: none.
struct PendingLaunch {
  std::uint64_t sequence = 0;
  std::uint64_t stream = 0;  // the handle
  std::uint32_t shared_bytes = 0;
};
PendingLaunch& pending_launch();
// Returns whether this thread is in a call that allocates: in such a call the driver's own report of that memory is not
// another allocation.
bool inside_allocation();

// Numbers operations on the GPU of this process, from 1.
std::uint64_t next_correlation();

enum class CallEffect : std::uint8_t { kNone, kWindowOpened, kWindowClosed, kLaunchReturned };

// Writes the events of the call. The caller must act on the returned effect.
CallEffect on_driver_call(const DriverCall& call, Allocations& allocations);

}  // namespace uvmtrace::access
