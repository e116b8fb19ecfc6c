// SPDX-License-Identifier: Apache-2.0
// How a generation of GPUs raises faults: its limits and times. README.md says what they are and where each comes from.
#pragma once

#include <cstdint>

namespace uvmsim::gpu {

struct FaultPath {
  std::uint32_t gpcs = 8;
  std::uint64_t fault_ps = 20400;  // of the fault unit, per raw fault
  std::uint32_t report_ns = 20;    // from sending a request until the fault unit can take it

  // What one SM may have outstanding.
  std::uint32_t store_packets = 13;  // of a contiguous store, 128 bytes each
  std::uint32_t store_lanes = 52;    // lanes of scattered stores and of atomics: packets of four
  std::uint32_t load_requests = 56;  // of loads: 256 bytes each, or one lane of a scattered load
  std::uint32_t regions = 14;        // of 32 KB in which these lie

  // From one request of an SM to the next.
  std::uint32_t load_ns = 2;               // of the same load
  std::uint32_t store_lane_ns = 4;         // lanes of a scattered store
  std::uint32_t load_instruction_ns = 16;  // from one contiguous load to the next
  std::uint32_t request_ns = 8;            // store packets, instructions, requests that a replay repeats

  // From an SM's first missing request until it knows and stops.
  std::uint32_t known_ns = 13;       // where the page table's line is at hand
  std::uint32_t known_busy_ns = 28;  // the same, when `busy_warps` warps wait for the SM's load/store unit
  std::uint32_t busy_warps = 8;
  std::uint32_t known_half_ns = 33;  // where only the other half of the line is
  std::uint32_t known_far_ns = 450;  // where it has to be fetched, and before a kernel's first replay

  std::uint32_t resume_spread_ns = 64;  // a replay reaches all SMs within this
};

// H100 and H200: everything measured.
inline constexpr FaultPath hopper() { return {}; }

// Titan V: the fault unit's time and 56 loads are measured, from one warp; that log shows no SM that stopped before its
// instruction was through. The rest is carried over from Hopper.
inline constexpr FaultPath volta() {
  FaultPath path;
  path.gpcs = 6;
  path.fault_ps = 14500;
  path.known_ns = path.known_busy_ns = path.known_half_ns = path.known_far_ns;
  return path;
}

}  // namespace uvmsim::gpu
