// SPDX-License-Identifier: Apache-2.0
// The experiments of `uvm_experiments --raw-faults`: small kernels for which it is known which warp touches which page.
// The raw faults then show how many faults an access raises, how many may be outstanding and in which order they
// arrive. This code does not use CUDA.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace uvmtrace::ground_truth {

enum class FaultPattern : std::uint8_t {
  kLanes,   // every thread touches 4 bytes, `pitch` apart
  kWalk,    // every warp makes `steps` touches of 128 bytes, one after the other, `pitch` apart
  kBurst,   // as kWalk, but all at once: 32 lanes of `access_bytes` next to each other
  kLoop,    // a grid-stride loop over the whole memory
  kAtomic,  // every thread adds to a word, `pitch` apart
};
inline constexpr std::string_view kFaultPatternNames[] = {"lanes", "walk", "burst", "loop", "atomic"};

enum class FirstPlace : std::uint8_t { kNowhere, kHost };
inline constexpr std::string_view kFirstPlaceNames[] = {"new", "host"};

struct FaultExperiment {
  std::string name;
  FaultPattern pattern = FaultPattern::kLanes;
  FirstPlace place = FirstPlace::kNowhere;
  bool write = false;
  std::uint64_t bytes = 2 << 20;  // of managed memory
  std::uint32_t grid = 1, threads = 32;
  std::uint32_t access_bytes = 4;  // per thread and access; 16 with kBurst and kLoop
  std::uint32_t steps = 1;         // kWalk; of kBurst 1, 4 or 16
  std::uint64_t pitch = 0;
  std::uint64_t warp_pitch = 0;  // kWalk, kBurst: distance between the memory of consecutive warps
};

// Returns the list for a GPU with that many SMs: about 250 experiments, the largest of 138 MB on 132 SMs. `quick`: only
// every eighth.
std::vector<FaultExperiment> fault_experiments(std::uint32_t sm_count, bool quick);

// Returns how many bytes from the start the experiment touches; not more than `bytes`.
std::uint64_t touched_bytes(const FaultExperiment& experiment);

}  // namespace uvmtrace::ground_truth
