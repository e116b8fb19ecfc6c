// SPDX-License-Identifier: Apache-2.0
// The texts that AccelProf's tools write, as plain values: one kernel at a time. import_accelprof.h describes them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/record.h"

namespace uvmsim::trace {

enum class AccelprofTool : std::uint8_t { kUvmAdvisor, kMemTrace, kHotAnalysis };
const char* accelprof_tool_name(AccelprofTool tool);

struct AccelprofRange {
  std::uint64_t address = 0, bytes = 0;
};

struct AccelprofAccess {
  AccelprofRange range;
  AccessMode mode = AccessMode::kReadWrite;
};

struct AccelprofKernel {
  std::string name;
  std::string operation;                    // uvm_advisor: the framework's operator around it
  std::vector<AccelprofRange> allocations;  // uvm_advisor: touched; else live
  std::vector<AccelprofRange> tensors;      // the same
  std::vector<AccelprofAccess> accesses;    // mem_trace, hot_analysis
  std::uint64_t warps = 0;                  // mem_trace: one more than the largest number; 0 = unknown
};

// Which tool wrote a line that is its first one with content, if any did.
std::optional<AccelprofTool> accelprof_tool_of(std::string_view line);

// A file of uvm_advisor holds many kernels, one of the others exactly one. next() gives them in order.
// Throws InputError naming file and line.
class AccelprofReader {
 public:
  explicit AccelprofReader(std::string path);
  ~AccelprofReader();

  AccelprofTool tool() const;
  bool next(AccelprofKernel& kernel);  // false at the end

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace uvmsim::trace
