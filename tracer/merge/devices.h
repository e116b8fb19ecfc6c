// SPDX-License-Identifier: Apache-2.0
// Maps the machine's GPUs to those of the trace. A process of torchrun may use only GPU 1: in its trace that is GPU 0,
// so that it can be replayed on any one GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tracer/merge/event.h"

namespace uvmtrace {

class DeviceNumbers {
 public:
  explicit DeviceNumbers(const PassLog& log);

  void apply(trace::Record& record) const;
  // The machine's numbers in the order of the trace's: "1"; empty where they are the same.
  std::string text() const;

 private:
  std::int32_t number(std::int32_t device) const;

  std::vector<std::int32_t> used_;  // ascending; empty where the numbers stay
};

}  // namespace uvmtrace
