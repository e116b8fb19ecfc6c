// SPDX-License-Identifier: Apache-2.0
// A table in device memory in which the kernels of one graph launch find their own marks (layout.h says how). Not
// thread-safe.
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

  // Clears all slots before the next work of the stream.
  bool begin(Sanitizer_StreamHandle stream, std::string& why);
  // Returns false without a reason if another kernel has this slot.
  bool put(std::uint64_t grid, const MarkSet& set, Sanitizer_StreamHandle stream, std::string& why);
  // Returns the user data of all kernels of the graph.
  void* device_address() const { return memory_; }

 private:
  CUcontext context_;
  char* memory_ = nullptr;  // Marks, padded, then the slots
  std::vector<bool> taken_;
};

}  // namespace uvmtrace::access
