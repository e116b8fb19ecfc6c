// SPDX-License-Identifier: Apache-2.0
// The slot `batch`: what the driver's fault thread takes at a time and when, in which order it serves it, and which SMs
// a replay lets go on.
//
// One instance serves one GPU, of all processes on it. The driver's own takes what is there, up to its batch size,
// serves it by address and lets all SMs go on. What a policy asks for beyond that needs a changed driver, and SMs that
// can be held a changed GPU.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/common/state_digest.h"
#include "sim/common/units.h"
#include "sim/policy/features.h"
#include "sim/policy/migrator.h"

namespace uvmsim::policy {

// A batch that is about to be fetched.
struct BatchMoment {
  Nanoseconds now{};
  Nanoseconds oldest{};              // arrival of the oldest fault that waits; `now` where none does
  Nanoseconds waited{};              // that this batch was put off so far
  std::uint32_t waiting = 0;         // raw faults in the buffer
  std::uint32_t driver_faults = 0;   // raw faults that the driver takes at most
  std::uint32_t buffer_entries = 0;  // raw faults that the buffer holds
  GpuMemoryUse memory;
};

struct BatchShape {
  std::uint32_t faults = 0;  // raw faults to take at most, up to buffer_entries; 0: the driver's number
  Nanoseconds delay{};       // 0: now; else the policy is asked again so much later, up to kMostBatchDelay in all
};
// Who is put off longer is served all the same: faults do not wait for ever.
inline constexpr Nanoseconds kMostBatchDelay{10'000'000};

// A batch that was served and is about to be replayed.
struct ServedBatch {
  Nanoseconds begin{}, end{};
  std::uint32_t raw_faults = 0;
  std::uint32_t blocks = 0;
  std::uint32_t evictions = 0;  // for its pages
  std::uint32_t sms = 0;        // of the GPU
  GpuMemoryUse memory;
};

class Batcher {
 public:
  virtual ~Batcher() = default;

  // Called when the thread would fetch a batch. A delay below 0, or faults beyond the buffer, end the run.
  virtual BatchShape shape([[maybe_unused]] const BatchMoment& moment) { return {}; }
  // Called once per process whose faults the batch holds, before the first block is served. Appends the blocks that
  // are to be served first, in this order; the others follow by address. What is not in the batch is left out.
  virtual void arrange([[maybe_unused]] const FaultBatch& batch, [[maybe_unused]] std::vector<BlockIndex>& first) {}
  // Called after each batch: how many SMs, those with the lowest numbers, the replay reaches; 0 and more than there
  // are: all. One that it does not reach tries nothing again and raises nothing new for what it waits for, until a
  // later replay reaches it. When no SM that was reached has work left, the core lets all go on.
  virtual std::uint32_t running_sms([[maybe_unused]] const ServedBatch& batch) { return 0; }

  // As Prefetcher::add_state.
  virtual void add_state(StateDigest& digest) const { digest.refuse(); }
};

// What is wrong with a shape: "a delay of -5 ns". Empty: nothing.
std::string shape_error(const BatchShape& shape, const BatchMoment& moment);

}  // namespace uvmsim::policy
