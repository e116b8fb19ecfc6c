// SPDX-License-Identifier: Apache-2.0
// The user's options, from the environment (tracer/log/README.md).
#pragma once

#include <cstdint>

namespace uvmtrace::access {

struct Options {
  std::uint32_t phases = 16;  // 0 is off, at most kMaxPhases
  std::uint64_t phase_bytes = std::uint64_t{32} << 20;
  bool order = false;
  bool counts = false;
  bool window = false;  // accesses are taken only between cuProfilerStart and Stop

  // Reports invalid values once and replaces them by their defaults.
  static Options from_environment();
};

}  // namespace uvmtrace::access
