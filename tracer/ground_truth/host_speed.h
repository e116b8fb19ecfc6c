// SPDX-License-Identifier: Apache-2.0
// Measures the single-thread speed of this host, because the UVM driver's work is one thread. It does not use CUDA.
#pragma once

#include <cstdint>
#include <string>

namespace uvmtrace::ground_truth {

struct HostSpeed {
  std::string cpu;                  // "model name" of /proc/cpuinfo; empty if there is none
  std::uint64_t step_ps = 0;        // a step of a chain of multiply, shift and exclusive or, in registers
  std::uint64_t chase_ps = 0;       // a load whose address is the result of the previous load, random over 256 MiB
  std::uint64_t page_touch_ps = 0;  // the first write to a 4 KB page of anonymous memory, including its part of munmap
};

// Measures for half a second. Each number is the least of several runs, so that other work on the host does not count.
HostSpeed measure_host_speed();

// Formats {"cpu":"...","step_ps":N,"chase_ps":N,"page_touch_ps":N}
std::string to_json(const HostSpeed& speed);

}  // namespace uvmtrace::ground_truth
