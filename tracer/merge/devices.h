// SPDX-License-Identifier: Apache-2.0
// Maps the machine's GPUs to those of the trace. A process of torchrun may use only GPU 1; in its trace this is GPU 0,
// so that the trace can be replayed on any single GPU.
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
  // Returns the machine's numbers in the order of the trace's numbers, such as "1"; empty if they are the same.
  std::string text() const;

 private:
  std::int32_t number(std::int32_t device) const;

  std::vector<std::int32_t> used_;  // ascending; empty if the numbers stay
};

}  // namespace uvmtrace
