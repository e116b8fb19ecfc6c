// SPDX-License-Identifier: Apache-2.0
// The slot `plan`: a planner knows or predicts the next kernels and moves memory before they need it.
//
// The core reports launches and migrations to the planner and asks it for one command at a time, whenever the GPU's
// migration thread is idle. Fault batches take precedence. One instance serves one GPU and is told of its kernels only.
#pragma once

#include <algorithm>
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

// Neighbouring VA blocks.
struct BlockRun {
  BlockIndex first;
  std::uint64_t count = 0;
};

// The pages of an object or tensor, a BlockPages per block, for `for` loops. It takes no memory, whatever its length.
class ArgumentMemory {
 public:
  class Iterator {
   public:
    BlockPages operator*() const {
      const std::uint64_t begin = position_ * kPagesPerBlock;
      const auto first = static_cast<unsigned>(std::max(memory_->first_page_, begin) - begin);
      const auto end = static_cast<unsigned>(std::min(memory_->end_page_, begin + kPagesPerBlock) - begin);
      return {BlockIndex(run_->first.value + in_run_), PageMask::range(first, end - first)};
    }
    Iterator& operator++() {
      ++position_;
      if (++in_run_ == run_->count) {
        ++run_;
        in_run_ = 0;
      }
      return *this;
    }
    bool operator==(const Iterator& other) const { return position_ == other.position_; }

   private:
    friend class ArgumentMemory;
    const ArgumentMemory* memory_ = nullptr;
    std::uint64_t position_ = 0;  // of the block in the object
    const BlockRun* run_ = nullptr;
    std::uint64_t in_run_ = 0;
  };

  ArgumentMemory() = default;
  // Pages [first_page, end_page) of these blocks, the first of which holds `first_page`. The runs must outlive this.
  ArgumentMemory(std::span<const BlockRun> runs, std::uint64_t first_page, std::uint64_t end_page)
      : runs_(runs), first_page_(first_page), end_page_(end_page) {}

  Iterator begin() const {
    Iterator iterator;
    iterator.memory_ = this;
    iterator.run_ = runs_.data();
    return iterator;
  }
  Iterator end() const {
    Iterator iterator;
    iterator.position_ = size();
    return iterator;
  }
  std::uint64_t size() const { return (end_page_ + kPagesPerBlock - 1) / kPagesPerBlock; }

 private:
  std::span<const BlockRun> runs_;
  std::uint64_t first_page_ = 0, end_page_ = 0;
};

// The memory that one of a kernel's pointer arguments points to.
struct KernelArgument {
  std::uint64_t address = 0;  // simulated, of the object's or tensor's first byte
  ArgumentMemory memory;      // all of its pages, ascending in the object
};

// A kernel, or a copy or memset of managed memory, as seen by a wrapper of the launch call. Valid during the call only.
struct KernelLaunch {
  std::uint64_t number = 0;  // launches on this GPU before it
  std::string_view name;
  std::uint64_t thread_blocks = 1, threads_per_block = 1;
  std::span<const KernelArgument> arguments = {};  // pointers to managed memory
};

struct PlanCommand {
  enum class Kind : std::uint8_t {
    kNone,      // do nothing until the next event
    kPrefetch,  // migrate `pages` of the block to the GPU
    kEvict,     // evict the block's root chunk
    kDrop,      // evict it without a copy, because its contents are not needed
    kWait,      // ask the planner again after `latency` at the latest
  };
  Kind kind = Kind::kNone;
  BlockIndex block;
  PageMask pages;  // kPrefetch only
  // The time that the decision takes, if a model or another processor makes it: the command takes effect so much later.
  // Faults are served meanwhile, and the planner is not asked for another command. 0: now. Of commands that were
  // decided together the first carries it. A value below 0 or above kMostLatency ends the run.
  Nanoseconds latency{};
};

// The shortest timer.
inline constexpr Nanoseconds kLeastWait{1'000};
// One hour.
inline constexpr Nanoseconds kMostLatency{3'600'000'000'000};

// Queries that a planner may use while it answers.
class PlanQueries {
 public:
  // Pages of the block that are not on this GPU; empty if the block is not allocated.
  virtual PageMask missing(BlockIndex block) const = 0;
  // Returns whether the block has a root chunk of its own, which no operation in progress needs.
  virtual bool evictable(BlockIndex block) const = 0;
  // Returns whether the block holds no live tensor at this point of the GPU's work: all tensors in it are freed, and
  // none has been placed there since.
  virtual bool inactive(BlockIndex block) const = 0;
  virtual std::uint32_t free_chunks() const = 0;
  virtual Nanoseconds now() const = 0;

 protected:
  ~PlanQueries() = default;
};

class Planner {
 public:
  virtual ~Planner() = default;

  // Called when the host launches the kernel, which begins after the earlier work on its stream. Class D3 and up.
  virtual void on_launched([[maybe_unused]] const KernelLaunch& kernel) {}
  // Called when the kernel begins, before its first access. Class D3 and up.
  virtual void on_begin([[maybe_unused]] const KernelLaunch& kernel) {}
  // Class D3 and up.
  virtual void on_end([[maybe_unused]] std::uint64_t number) {}

  // Called when the driver serves faults on pages of the block: batch by batch, by address within a batch. The pages
  // are already resident, unless a policy kept them elsewhere.
  virtual void on_faulted([[maybe_unused]] BlockIndex block, [[maybe_unused]] const PageMask& pages) {}
  // Called when pages of the block arrive on the GPU, or are already there when an operation (a fault, a prefetch, a
  // command) would bring them.
  virtual void on_migrated([[maybe_unused]] BlockIndex block) {}
  // Called when the block lost its memory on the GPU by eviction or free.
  virtual void on_released([[maybe_unused]] BlockIndex block) {}

  // Returns the next command. Called when the thread is idle, after any event that may change the answer. A command
  // takes time. One that cannot be carried out takes none and has no effect: a prefetch without a free chunk
  // (prefetches never evict), of present pages or of pages under hints of the program; an eviction of a block that is
  // not evictable, or that a running kernel uses which found all its memory mapped; a drop of a block that is not
  // inactive. A command that takes effect late (PlanCommand::latency) may meet such a case. The planner is asked again
  // after the next event.
  virtual PlanCommand next(const PlanQueries& queries) = 0;

  // Returns the block to evict, with kEvict or kDrop, when a fault or a call needs a chunk and none is free. Any other
  // answer, and one that cannot be carried out, leaves the choice to the eviction policy.
  virtual PlanCommand victim([[maybe_unused]] const PlanQueries& queries) { return {}; }
};

}  // namespace uvmsim::policy
