// SPDX-License-Identifier: Apache-2.0
// Device memory that leads the kernels of one graph launch to their own marks (layout.h says how). Not thread-safe.
#pragma once

#include <cuda.h>
#include <sanitizer.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tracer/access/mark_set.h"

namespace uvmtrace::access {

class GraphSlots {
 public:
  explicit GraphSlots(CUcontext context) : context_(context) {}

  // No kernel has a slot, before whatever the stream does next.
  bool begin(Sanitizer_StreamHandle stream, std::string& why);
  // Returns false without a reason if another kernel has this slot.
  bool put(std::uint64_t grid, const MarkSet& set, Sanitizer_StreamHandle stream, std::string& why);
  // The user data of all kernels of the graph.
  void* device_address() const { return memory_; }

 private:
  CUcontext context_;
  char* memory_ = nullptr;  // Marks, padded, then the slots
  std::vector<bool> taken_;
};

}  // namespace uvmtrace::access
