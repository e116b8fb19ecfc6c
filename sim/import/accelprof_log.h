// SPDX-License-Identifier: Apache-2.0
// The texts that AccelProf's tools write, as plain values, one kernel at a time. import_accelprof.h describes them.
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
  std::vector<AccelprofRange> allocations;  // uvm_advisor: those that were touched; other tools: those that were live
  std::vector<AccelprofRange> tensors;      // as for allocations
  std::vector<AccelprofAccess> accesses;    // only in mem_trace and hot_analysis
  std::uint64_t warps = 0;                  // mem_trace: one more than the largest number; 0 = unknown
};

// Returns the tool that wrote a file, by its first line with content; nothing if none did.
std::optional<AccelprofTool> accelprof_tool_of(std::string_view line);

// A reader of one file: a file of uvm_advisor holds many kernels, one of the others exactly one. next() returns them in
// order. Throws InputError that names file and line.
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
