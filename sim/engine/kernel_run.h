// SPDX-License-Identifier: Apache-2.0
// A kernel in progress on one GPU: the resident units, what they wait for, and the raw faults their SMs raise.
//
// Every SM has one queue of accesses, served in order. An access to a mapped page passes. A miss raises faults and
// stays outstanding; when the SM may raise no more, everything behind waits for the next replay. A replay makes the
// SMs, one after another in an order that differs each time, try again what is outstanding and then what waits: after
// its first replay an SM lets only one further warp raise new faults until the next one. README.md says what this was
// found from. A page that a unit waited for counts as touched once it was mapped at some replay, so a kernel larger
// than memory makes progress.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/common/check.h"
#include "sim/common/random.h"
#include "sim/engine/agenda.h"
#include "sim/engine/even_steps.h"
#include "sim/engine/kernel_work.h"
#include "sim/engine/section_run.h"
#include "sim/engine/sm_queue.h"
#include "sim/events/counters.h"
#include "sim/gmmu/fault_buffer.h"
#include "sim/gmmu/fault_unit.h"

namespace uvmsim::engine {

class KernelRun {
  // A unit at its place on an SM.
  struct Lane {
    std::uint64_t unit = 0;
    std::uint32_t section = 0;
    std::uint32_t step = 0;
    std::uint32_t pending = 0;      // accesses of this part that missed, and one for those not taken yet
    std::uint32_t raise_epoch = 0;  // its SM's, when this part first raised a fault; 0: it did not
    // Steps before these find their loads and stores mapped: seen at that view.
    std::uint32_t clear[2] = {0, 0};
    std::uint32_t clear_view = 0;
    std::uint16_t sm = 0;
    std::uint16_t raised = 0;  // pages out in that epoch
    bool storing = false;      // part of the step: loads, then stores
    bool stored = false;       // its previous part was a store
    bool loaded = false;
  };
  // Where the next unit's slice of an operand begins.
  struct NextSlice {
    EvenSteps begin;
    std::size_t stretch = 0;  // that holds the beginning, or one before
  };

 public:
  // Memory of finished kernels, for the next ones.
  class Buffers {
    friend class KernelRun;
    struct Set {
      std::vector<Lane> lanes;
      std::vector<SmQueue> sms;
      std::vector<Share> shares;
      std::unique_ptr<Agenda> agenda;
    };
    std::vector<Set> kept;
  };

  KernelRun(KernelWork work, unsigned gpu, const config::SystemConfig& system, const AddressSpace& space,
            gmmu::FaultBuffer& buffer, Counters& counters, Buffers& buffers, std::uint64_t seed);
  ~KernelRun();
  KernelRun(const KernelRun&) = delete;
  KernelRun& operator=(const KernelRun&) = delete;

  // True if every page is mapped, so that the kernel cannot fault as things are.
  bool all_mapped() const;

  void start(Nanoseconds now);
  // On a GPU where other processes take pages meanwhile: operands that are mapped as a whole may not stay so, and a
  // kernel that begins with all its pages takes its recorded duration and what it then has to wait for.
  void start_beside_others(Nanoseconds now, Nanoseconds recorded);
  // The kernel computes up to and including `until`.
  void advance(Nanoseconds until);
  // The same; the driver will drop all faults that arrive by then. Returns how many raw faults these are, beyond those
  // in the buffer.
  std::uint32_t advance_unheard(Nanoseconds until);
  // The kernel computes up to and including `until`, but no further than until a fault is in the buffer.
  void advance_to_fault(Nanoseconds until);
  // The driver issued a replay at `now`, which reaches the first `sms` SMs.
  void replay(Nanoseconds now, std::uint32_t sms);
  // Nothing happens any more without a replay; its last event was at `latest()`.
  bool waits() const { return agenda_->empty(); }
  Nanoseconds latest() const { return present_ + away_; }
  // The GPU computes for another process, until resume(): the kernel stands still, and so does its own clock.
  void suspend(Nanoseconds now);
  void resume(Nanoseconds now);
  Nanoseconds suspended_at() const { return suspended_at_; }  // INT64_MAX: it runs

  bool finished() const { return idle_lanes_ == lanes_.size() && next_unit_ == work_.units; }
  Nanoseconds end() const { return end_ + away_; }
  const KernelWork& work() const { return work_; }

 private:
  Nanoseconds ns(std::uint64_t n) const { return Nanoseconds(static_cast<std::int64_t>(n)); }
  // The kernel's own clock, by which all below this line runs: what it was suspended for does not count.
  Nanoseconds own(Nanoseconds time) const { return std::min(time, suspended_at_) - away_; }
  void compute(Nanoseconds until);
  const PageMask& usable(std::uint64_t block, bool write) const {
    const ProcessorPages& mine = space_.pages(BlockIndex(block), me_);
    return write ? mine.writable : mine.mapped;
  }
  // Its first page in [first, end) that this GPU may not use so; `end` when there is none.
  unsigned first_missing(std::uint64_t block, bool write, unsigned first, unsigned end) const {
    const PageMask& pages = usable(block, write);
    const unsigned last = (end - 1) / 64;
    unsigned w = first / 64;
    std::uint64_t clear = ~pages.word(w) & ~std::uint64_t{0} << first % 64;
    while (clear == 0) {
      if (w == last) return end;
      clear = ~pages.word(++w);
    }
    return std::min(w * 64 + static_cast<unsigned>(__builtin_ctzll(clear)), end);
  }
  // The same of positions of an operand.
  std::uint64_t first_missing(const Operand& operand, const Share& share, const PageRange& pages) const {
    for (std::uint64_t position = pages.begin; position < pages.end;) {
      const PageRun run = operand.run(share, position, pages.end);
      const unsigned end = unsigned{run.first} + run.count;
      const unsigned missed = first_missing(run.block.value, operand.write, run.first, end);
      if (missed != end) return position + (missed - run.first);
      position += run.count;
    }
    return pages.end;
  }
  // Of the warps of a unit that access a page, those that raise faults of their own.
  std::uint16_t faulting_warps(std::uint32_t warps) const {
    return gmmu_.warps_share_faults ? std::uint16_t{1} : static_cast<std::uint16_t>(std::min(warps, 1024u));
  }
  // Call before anything looks at pages: they may have been unmapped.
  void find_pages() {
    const std::uint64_t unmaps = space_.unmap_epoch(gpu_);
    unmapped_ = unmap_epoch_ != unmaps;
    if (viewed_unmaps_ != unmaps) ++view_;
    viewed_unmaps_ = unmaps;
  }
  bool missing(const Access& access) const { return !usable(access.block, access.write).test(access.page); }
  bool next_event(Nanoseconds until);
  void start_unit(std::uint32_t lane_index, Nanoseconds now);
  void lane_at(Nanoseconds time, std::uint32_t lane) { agenda_->add(time, sm_count_ + lane); }
  void sm_at(Nanoseconds time, std::uint32_t sm) { agenda_->add(time, sm); }
  bool take_unit(Lane& lane);
  Share* shares_of(std::uint32_t index) { return shares_.data() + index * most_operands_; }
  void plan_shares(std::uint32_t index);
  void plan_turns();
  // The lane's present part, all its loads of a step or all its stores, joins the SM's queue. False if there are none.
  // Steps without any are left out, which takes until `now`.
  bool issue(std::uint32_t index, Nanoseconds& now);
  bool issue_slice(const SectionRun& section, Lane& lane, Nanoseconds& now) const;
  bool issue_tile(const SectionRun& section, Lane& lane, const Share* shares, Nanoseconds& now) const;
  bool issue_other(const SectionRun& section, Lane& lane, const Share* shares, Nanoseconds& now) const;
  void queue_part(Lane& lane, std::uint32_t index, Nanoseconds now);
  void begin_section();
  void look_at_operands();
  // Something may have been unmapped: what was left out may have to be looked at again.
  void notice_unmaps() {
    if (unmapped_) watch_again();
  }
  void watch_again();
  bool operand_mapped(SectionRun& section, std::uint32_t index) const;
  bool run_mapped(const PageRun& run) const {
    const unsigned end = unsigned{run.first} + run.count;
    return first_missing(run.block.value, run.write, run.first, end) == end;
  }
  // An access of the lane passes, or all of its part is taken.
  void pass(std::uint32_t index, Nanoseconds now) {
    Lane& lane = lanes_[index];
    UVMSIM_CHECK(lane.pending != 0, "lane {} has nothing pending", index);
    if (--lane.pending == 0) finish_part(index, now);
  }
  void finish_part(std::uint32_t index, Nanoseconds now);
  void look_at_queue(SmQueue& sm, std::uint32_t sm_index, Nanoseconds now);
  void sleep_until(SmQueue& sm, std::uint32_t sm_index, Nanoseconds ready);
  void wake(std::uint32_t sm_index, Nanoseconds now);
  void serve(std::uint32_t sm_index, Nanoseconds now);
  bool may_raise(const SmQueue& sm, bool scattered) const;
  Nanoseconds retry(SmQueue& sm, std::uint32_t sm_index, Nanoseconds& now);
  Nanoseconds raise_next_warp(SmQueue& sm, std::uint32_t sm_index, Nanoseconds now);
  Nanoseconds take_waiting(SmQueue& sm, std::uint32_t sm_index, Nanoseconds now);
  Nanoseconds others_clear_until(const SmQueue& sm) const;
  bool skip_clear_steps(std::uint32_t index, Nanoseconds now);
  bool is_clear(const Lane& lane) const { return lane.step < lane.clear[lane.storing] && lane.clear_view == view_; }
  bool look_at_part(std::uint32_t lane_index, std::vector<Untaken>& rest);
  bool look_at_slice(const SectionRun& section, const Lane& lane, const Share* shares,
                     std::vector<Untaken>& rest) const;
  void note_clear_steps(const SectionRun& section, Lane& lane, const Share* shares) const;
  Nanoseconds raise_untaken(SmQueue& sm, std::uint32_t sm_index, Untaken& next, Nanoseconds now);
  Nanoseconds raise(SmQueue& sm, std::uint32_t sm_index, Access access, std::uint32_t warps, Nanoseconds now);

  KernelWork work_;
  std::vector<SectionRun> sections_;  // of it, once it has started
  unsigned gpu_;
  const config::SystemConfig& system_;
  const config::GmmuConfig gmmu_;  // a copy, at hand
  const AddressSpace& space_;
  const ProcessorId me_;
  gmmu::FaultBuffer& buffer_;
  Counters& counters_;
  Buffers& buffers_;
  Random random_;
  bool plain_slices_ = false;
  bool beside_others_ = false;
  bool as_recorded_ = false;  // loads and block starts are part of the recorded duration
  std::vector<Lane> lanes_;
  std::vector<SmQueue> sms_;
  std::uint32_t sm_count_ = 0;
  std::vector<std::uint32_t> sm_order_;
  std::unique_ptr<Agenda> agenda_;   // of SMs, then of lanes
  std::vector<Share> shares_;        // by lane and operand: plan_shares()
  std::size_t most_operands_ = 0;    // of a section
  std::vector<NextSlice> slices_;    // of each operand
  std::uint32_t watching_from_ = 0;  // all operands of sections before are watched
  std::uint64_t unmap_epoch_ = 0;
  bool unmapped_ = false;  // something was, since then
  // Counts up when a page that was found mapped may be so no more, or operands come under watch.
  std::uint32_t view_ = 1;
  std::uint64_t viewed_unmaps_ = 0;
  std::uint64_t next_unit_ = 0;
  std::uint32_t next_section_ = 0;
  std::size_t idle_lanes_ = 0;
  std::uint32_t issue_depth_ = 1;  // parts that an SM has under way
  Nanoseconds block_start_{};
  Nanoseconds block_dispatch_{};
  Nanoseconds load_time_{};       // of a step's loads
  Nanoseconds load_times_[2];     // the same, by whether it loads
  Nanoseconds turn_times_[2][2];  // of a step after its loads: by whether it stored, whether it loaded
  Nanoseconds present_{};         // time of the event in hand
  Nanoseconds horizon_{};         // until then nothing is mapped or unmapped
  gmmu::FaultUnit fault_unit_;
  Nanoseconds unheard_until_{-1};  // faults that arrive by then are only counted
  std::uint32_t unheard_ = 0;
  Nanoseconds end_{};
  Nanoseconds away_{};  // suspended so long, until the last resume()
  Nanoseconds suspended_at_{INT64_MAX};
};

}  // namespace uvmsim::engine
