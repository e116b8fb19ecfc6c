// SPDX-License-Identifier: Apache-2.0
// The limits and times with which a generation of GPUs raises faults. README.md explains them and gives the source of
// each.
#pragma once

#include <cstdint>

namespace uvmsim::gpu {

struct FaultPath {
  std::uint32_t gpcs = 8;
  std::uint64_t fault_ps = 20400;  // time of the fault unit per raw fault
  std::uint32_t report_ns = 20;    // from sending a request until the fault unit can take it

  // Limits of the requests that one SM may have outstanding.
  std::uint32_t store_packets = 13;  // packets of contiguous stores, 128 bytes each
  std::uint32_t store_lanes = 52;    // lanes of scattered stores and of atomics: packets of four
  std::uint32_t load_requests = 56;  // 256 bytes of a load each, or one lane of a scattered load
  std::uint32_t regions = 14;        // regions of 32 KB that hold all of these

  // From one request of an SM to the next.
  std::uint32_t load_ns = 2;          // of the same load
  std::uint32_t store_lane_ns = 4;    // lanes of a scattered store
  std::uint32_t instruction_ns = 16;  // between instructions of warps that come one by one
  std::uint32_t request_ns = 8;       // store packets, instructions, requests that a replay repeats

  // Times from an SM's first missing request until the SM knows of the miss and stops.
  std::uint32_t known_ns = 13;       // if the page table's line is cached
  std::uint32_t known_busy_ns = 28;  // the same, if `busy_warps` warps wait for the SM's load/store unit
  std::uint32_t busy_warps = 8;
  std::uint32_t known_half_ns = 33;  // if only the other half of the line is cached
  std::uint32_t known_far_ns = 450;  // if the line must be fetched, and before a kernel's first replay

  std::uint32_t resume_spread_ns = 64;  // from the first to the last SM that a replay reaches
};

// H100 and H200: everything measured.
inline constexpr FaultPath hopper() { return {}; }

// Titan V: fault_ps and load_requests are measured, from one warp; that log shows no SM that stopped before its
// instruction was complete. The other numbers are Hopper's.
inline constexpr FaultPath volta() {
  FaultPath path;
  path.gpcs = 6;
  path.fault_ps = 14500;
  path.known_ns = path.known_busy_ns = path.known_half_ns = path.known_far_ns;
  return path;
}

}  // namespace uvmsim::gpu
