// SPDX-License-Identifier: Apache-2.0
// The slot `batch`: how many faults the driver's fault thread takes at a time and when, in which order it serves them,
// and which SMs a replay resumes.
//
// One instance serves one GPU and all processes on it. The driver's own policy takes the faults that are there, up to
// its batch size, serves them by address and resumes all SMs. Anything else needs a changed driver; holding SMs back
// also needs a changed GPU.
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
  Nanoseconds oldest{};              // arrival of the oldest waiting fault; `now` if none waits
  Nanoseconds waited{};              // how long this batch has been delayed already
  std::uint32_t waiting = 0;         // raw faults in the buffer
  std::uint32_t driver_faults = 0;   // most raw faults that the driver takes
  std::uint32_t buffer_entries = 0;  // raw faults that fit into the buffer
  GpuMemoryUse memory;
};

struct BatchShape {
  std::uint32_t faults = 0;  // most raw faults to take, up to buffer_entries; 0: the driver's number
  Nanoseconds delay{};       // 0: now; else the policy is asked again after the delay; up to kMostBatchDelay in total
};
// A batch is served after this delay whatever the policy says, so that faults do not wait for ever.
inline constexpr Nanoseconds kMostBatchDelay{10'000'000};

// A batch that was served and is about to be replayed.
struct ServedBatch {
  Nanoseconds begin{}, end{};
  std::uint32_t raw_faults = 0;
  std::uint32_t blocks = 0;
  std::uint32_t evictions = 0;  // evictions for its pages
  std::uint32_t sms = 0;        // of the GPU
  GpuMemoryUse memory;
};

class Batcher {
 public:
  virtual ~Batcher() = default;

  // Called when the thread is about to fetch a batch. A delay below 0, or more faults than the buffer holds, ends the
  // run.
  virtual BatchShape shape([[maybe_unused]] const BatchMoment& moment) { return {}; }
  // Called once per process with faults in the batch, before the first block is served. Appends the blocks to serve
  // first, in order; the others follow by address. Blocks that are not in the batch are ignored.
  virtual void arrange([[maybe_unused]] const FaultBatch& batch, [[maybe_unused]] std::vector<BlockIndex>& first) {}
  // Called after each batch. Returns the number of SMs that the replay reaches, those with the lowest numbers; 0, or
  // more than there are, means all. An SM that the replay does not reach retries nothing and raises no new fault for
  // what it waits for, until a later replay reaches it. When no reached SM has work left, the core resumes all.
  virtual std::uint32_t running_sms([[maybe_unused]] const ServedBatch& batch) { return 0; }

  // Adds everything that later answers depend on (policy.h: Prefetcher::add_state).
  virtual void add_state(StateDigest& digest) const { digest.refuse(); }
};

// Describes what is wrong with a shape: "a delay of -5 ns". Empty if it is valid.
std::string shape_error(const BatchShape& shape, const BatchMoment& moment);

}  // namespace uvmsim::policy
