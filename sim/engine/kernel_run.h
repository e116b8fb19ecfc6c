// A kernel in progress on one GPU: the resident units, what they wait for, and the raw faults their SMs raise.
//
// Every SM has one queue of accesses, served in order. An access to a mapped page passes. A miss raises faults and
// stays outstanding; when the SM may raise no more, everything behind waits for the next replay. A replay makes the
// SMs, one after another in an order that differs each time, try again what is outstanding and then what waits: after
// its first replay an SM lets only one further warp raise new faults until the next one. README.md says what this was
// found from. A page that a unit waited for counts as touched once it was mapped at some replay, so a kernel larger
// than memory makes progress.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/common/random.h"
#include "sim/driver/context.h"
#include "sim/engine/agenda.h"
#include "sim/engine/kernel_work.h"
#include "sim/engine/slice_cursor.h"
#include "sim/gmmu/fault_buffer.h"

namespace uvmsim::engine {

class KernelRun {
  // A unit at its place on an SM.
  struct Lane {
    std::uint64_t unit = 0;
    std::uint32_t section = 0;
    std::uint32_t step = 0;
    std::uint32_t sm = 0;
    std::uint32_t pending = 0;  // accesses of this part that have not passed
    std::uint32_t raised = 0;   // pages out since the last replay
    bool fresh = true;          // takes its unit when it issues
    bool storing = false;       // part of the step: loads, then stores
    bool replayed = false;      // a replay retried accesses of this part
    bool stored = false;        // its previous part was a store
    bool loaded = false;
  };
  // Accesses of some warps of a lane to one page whose faults are out. (Blocks in 32 bits: half the size.)
  struct Access {
    std::uint32_t block = 0;
    std::uint32_t lane = 0;
    std::uint16_t page = 0;
    std::uint16_t warps = 1;
    std::uint16_t raising = 0;  // warps whose faults are out
    bool write = false;
    bool scattered = false;
    std::uint64_t index() const { return std::uint64_t{block} * kPagesPerBlock + page; }
  };
  // Accesses of a lane to pages in a row that stand in the queue.
  struct Waiting {
    std::uint32_t block = 0;
    std::uint32_t lane = 0;
    std::uint16_t first = 0, count = 0;
    std::uint16_t warps = 1;
    bool write = false;
    bool scattered = false;
  };
  struct Sm {
    std::vector<Access> outstanding;  // missed, faults out
    std::vector<Access> retrying;     // missed before the replay in progress
    std::size_t next_retry = 0;
    std::vector<Waiting> waiting;
    std::size_t next_waiting = 0;
    std::uint64_t last_page = ~std::uint64_t{0};
    std::uint32_t ticket = 0;     // of its event on the agenda
    std::uint32_t raw = 0;        // raw faults out
    std::uint32_t new_warps = 0;  // that raised faults since the last replay
    std::uint32_t new_lane = ~std::uint32_t{0};
    bool replayed = false;
    bool scheduled = false;
    bool blocked = false;

    // As new, but with the memory of its queues.
    void reset() {
      Sm fresh;
      fresh.outstanding.swap(outstanding);
      fresh.retrying.swap(retrying);
      fresh.waiting.swap(waiting);
      fresh.outstanding.clear();
      fresh.retrying.clear();
      fresh.waiting.clear();
      *this = std::move(fresh);
    }
  };

 public:
  // Memory of finished kernels, for the next ones.
  class Buffers {
    friend class KernelRun;
    struct Set {
      std::vector<Lane> lanes;
      std::vector<Sm> sms;
      Agenda agenda;
    };
    std::vector<Set> kept;
  };

  KernelRun(KernelWork work, unsigned gpu, const config::SystemConfig& system, AddressSpace& space,
            gmmu::FaultBuffer& buffer, Counters& counters, Buffers& buffers, std::uint64_t seed);
  ~KernelRun();
  KernelRun(const KernelRun&) = delete;
  KernelRun& operator=(const KernelRun&) = delete;

  // True if every page is mapped, so that the kernel cannot fault as things are.
  bool all_mapped() const;

  void start(Nanoseconds now);
  // The kernel computes up to and including `until`.
  void advance(Nanoseconds until);
  // The kernel computes until a fault is in the buffer or nothing is left to do.
  void advance_to_fault();
  // The driver issued a replay at `now`.
  void replay(Nanoseconds now);

  bool finished() const { return idle_lanes_ == lanes_.size() && next_unit_ == work_.units; }
  Nanoseconds end() const { return end_; }
  const KernelWork& work() const { return work_; }

 private:
  // Delays with a queue of their own in the agenda.
  enum Delay : std::size_t { kLoads, kStep, kOther };

  Nanoseconds ns(std::uint64_t n) const { return Nanoseconds(static_cast<std::int64_t>(n)); }
  const PageMask& usable(std::uint64_t block, bool write) const {
    const ProcessorPages& mine = space_.pages(BlockIndex(block), gpu_processor(gpu_));
    return write ? mine.writable : mine.mapped;
  }
  bool missing(const Access& access) const { return !usable(access.block, access.write).test(access.page); }
  void step(const AgendaEvent& event);
  void at(Nanoseconds time, Delay delay, std::uint32_t subject, bool is_sm, std::uint32_t ticket = 0) {
    agenda_.add(delay, AgendaEvent{time, 0, ticket, subject & 0x7fffffffu, is_sm});
  }
  bool take_unit(Lane& lane);
  // The lane's next part: all its loads of a step, or all its stores.
  void issue(std::uint32_t index, Nanoseconds now);
  // The same for both parts of a one-step unit that the lane is just taking.
  void issue_fresh(std::uint32_t index, Nanoseconds now);
  void want(std::uint32_t index, const PageRun& run, std::uint32_t warps, bool scattered);
  void begin_part(Lane& lane);
  void end_part(std::uint32_t index, Nanoseconds now);
  void prepare_cursors(std::uint64_t unit);
  void look_at_operands();
  void notice_unmaps();
  bool operand_mapped(const Operand& operand) const;
  void pass(std::uint32_t index, std::uint32_t accesses, Nanoseconds now);
  void finish_part(std::uint32_t index, Nanoseconds now);
  void serve(std::uint32_t sm_index, Nanoseconds now);
  bool may_raise(const Sm& sm, const Waiting& next) const;
  Nanoseconds raise(std::uint32_t sm_index, Access& access, std::uint32_t warps, Nanoseconds now);

  KernelWork work_;
  unsigned gpu_;
  const config::SystemConfig& system_;
  AddressSpace& space_;
  gmmu::FaultBuffer& buffer_;
  Counters& counters_;
  Buffers& buffers_;
  Random random_;
  std::vector<Lane> lanes_;
  std::vector<Sm> sms_;
  std::vector<std::uint32_t> sm_order_;
  Agenda agenda_;
  // One-step sections: where the next unit's slices begin, of operands that are not mapped as a whole.
  std::vector<SliceCursor> load_cursors_, store_cursors_;
  bool cursors_valid_ = false;
  bool loads_skipped_ = false;
  bool skipping_ = true;  // operands mapped as a whole are not looked at; until something is unmapped
  std::uint64_t unmap_epoch_ = 0;
  std::uint64_t next_unit_ = 0;
  std::uint32_t next_section_ = 0;
  std::size_t idle_lanes_ = 0;
  Nanoseconds fault_unit_free_{};
  Nanoseconds end_{};
};

}  // namespace uvmsim::engine
