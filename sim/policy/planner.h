// SPDX-License-Identifier: Apache-2.0
// The slot `plan`: who knows which kernels come next, and moves memory before they need it.
//
// A planner is told what the program launches and what moves, and is asked for commands, one at a time, whenever the
// GPU's migration thread has nothing else to do. Fault batches come first. One instance serves one GPU and hears of its
// kernels alone.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/common/units.h"
#include "sim/memory/page_mask.h"
#include "sim/policy/policy.h"

namespace uvmsim::policy {

// Pages of one VA block.
struct BlockPages {
  BlockIndex block;
  PageMask pages;
};

// What a pointer among a kernel's arguments points to.
struct KernelArgument {
  std::uint64_t address = 0;           // simulated, of the object's or tensor's first byte
  std::span<const BlockPages> memory;  // all of its pages, ascending in the object
};

// A kernel, or a copy or memset of managed memory, as whoever wraps its launch sees it. Valid during the call only.
struct KernelLaunch {
  std::uint64_t number = 0;  // launches on this GPU before it
  std::string_view name;
  std::uint64_t thread_blocks = 1, threads_per_block = 1;
  std::span<const KernelArgument> arguments = {};  // pointers to managed memory
};

struct PlanCommand {
  enum class Kind : std::uint8_t {
    kNone,      // nothing to do until something happens
    kPrefetch,  // bring `pages` of the block to the GPU
    kEvict,     // push the block's root chunk out
    kDrop,      // the same without a copy: its contents are not needed
    kWait,      // a timer: the planner is asked again after `latency`, at the latest
  };
  Kind kind = Kind::kNone;
  BlockIndex block;
  PageMask pages;  // kPrefetch only
  // How long the decision takes, where a model or another processor makes it: the command takes effect so much later.
  // Faults go on meanwhile, and the planner is not asked for another one. 0: now. Commands that were decided together
  // carry it on the first. Below 0 and above kMostLatency end the run.
  Nanoseconds latency{};
};

// A timer does not ring before that.
inline constexpr Nanoseconds kLeastWait{1'000};
// An hour.
inline constexpr Nanoseconds kMostLatency{3'600'000'000'000};

// What a planner may ask while it answers.
class PlanQueries {
 public:
  // Pages of the block that are not on this GPU; none of a block that is not allocated.
  virtual PageMask missing(BlockIndex block) const = 0;
  // The block has a root chunk of its own, which nothing in progress needs.
  virtual bool evictable(BlockIndex block) const = 0;
  // The framework holds nothing in the block at this point of the GPU's work: all tensors in it are freed, and none is
  // placed there yet.
  virtual bool inactive(BlockIndex block) const = 0;
  virtual std::uint32_t free_chunks() const = 0;
  virtual Nanoseconds now() const = 0;

 protected:
  ~PlanQueries() = default;
};

class Planner {
 public:
  virtual ~Planner() = default;

  // The host launched it; it begins when the work before it on its stream is over. Class D3 and up.
  virtual void on_launched([[maybe_unused]] const KernelLaunch& kernel) {}
  // It begins now, before its first access. Class D3 and up.
  virtual void on_begin([[maybe_unused]] const KernelLaunch& kernel) {}
  // Class D3 and up.
  virtual void on_end([[maybe_unused]] std::uint64_t number) {}

  // The driver serves faults on pages of the block, batch by batch, within a batch by address. They are resident
  // already, unless they were to stay elsewhere.
  virtual void on_faulted([[maybe_unused]] BlockIndex block, [[maybe_unused]] const PageMask& pages) {}
  // Pages of the block came to the GPU, or were found there by an operation that was to bring them: a fault, a
  // prefetch, a command.
  virtual void on_migrated([[maybe_unused]] BlockIndex block) {}
  // The block lost its memory on the GPU: evicted by whomever, or freed.
  virtual void on_released([[maybe_unused]] BlockIndex block) {}

  // What to do now. Called when the thread is idle, after anything that may have changed the answer. A command takes
  // time; one that cannot be carried out takes none and nothing happens: a prefetch without a free chunk (prefetches
  // never evict) or of what is there already or under hints of the program, an eviction of what is not evictable or in
  // use by a kernel that found all its memory mapped, a drop of a block that is not inactive. The planner is asked
  // again when something happens. One that comes late (PlanCommand::latency) may have become such.
  virtual PlanCommand next(const PlanQueries& queries) = 0;

  // A fault or a call needs a chunk and none is free: which block to evict, with kEvict or kDrop. Any other answer,
  // and one that cannot be carried out, leaves the choice to the eviction policy.
  virtual PlanCommand victim([[maybe_unused]] const PlanQueries& queries) { return {}; }
};

}  // namespace uvmsim::policy
