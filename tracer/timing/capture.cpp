// SPDX-License-Identifier: Apache-2.0
#include "tracer/timing/capture.h"

#include <atomic>

#include "tracer/timing/driver_library.h"

namespace uvmtrace {

namespace {
std::atomic<int> open_captures{0};
thread_local bool node_created = false;
}  // namespace

void begin_call_for_capture() { node_created = false; }
void note_node_created() { node_created = true; }

bool was_captured(const Call& call, CUstream stream) {
  if (node_created) return true;
  if (open_captures.load(std::memory_order_relaxed) <= 0 || driver().cuStreamIsCapturing == nullptr) return false;
  if (stream == nullptr && call.per_thread_stream) stream = CU_STREAM_PER_THREAD;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

void note_capture_begin() { open_captures.fetch_add(1, std::memory_order_relaxed); }
void note_capture_end() { open_captures.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace uvmtrace
