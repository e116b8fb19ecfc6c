// SPDX-License-Identifier: Apache-2.0
// A kernel in progress on one GPU: the resident units, the accesses that they wait for, and the raw faults that their
// SMs raise.
//
// Every SM has one queue of accesses, served in order. An access to a mapped page passes. A miss raises faults and
// stays outstanding; when the SM may raise no more, all accesses behind it wait for the next replay. A replay reaches
// the SMs one after another, in random order. Each SM retries its outstanding accesses, then those that wait; after its
// first replay only one further warp per replay raises new faults. README.md gives the measurements. A page that a unit
// waited for counts as touched once it was mapped at a replay, so that a kernel larger than memory makes progress.
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
  // A resident unit on its SM.
  struct Lane {
    std::uint64_t unit = 0;
    std::uint32_t section = 0;
    std::uint32_t step = 0;
    std::uint32_t pending = 0;      // accesses of this part that missed, plus one until all are taken
    std::uint32_t raise_epoch = 0;  // the SM's epoch when this part first raised a fault; 0: never
    // Steps before clear[false] find their loads mapped, before clear[true] their stores, as seen at clear_view.
    std::uint32_t clear[2] = {0, 0};
    std::uint32_t clear_view = 0;
    std::uint16_t sm = 0;
    std::uint16_t raised = 0;  // pages that this part has raised
    bool storing = false;      // the present part of the step: its loads (false), then its stores
    bool stored = false;       // the step stores (set only with a list of touches)
    bool loaded = false;
  };
  // The begin of the next unit's slice of an operand.
  struct NextSlice {
    EvenSteps begin;
    std::size_t stretch = 0;  // the stretch that holds the begin, or an earlier one
  };

 public:
  // Memory of finished kernels, reused by later ones.
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

  // Returns whether every page is mapped, so that the kernel cannot fault now.
  bool all_mapped() const;

  void start(Nanoseconds now);
  // Starts the kernel on a GPU where other processes take pages meanwhile: fully mapped operands may not stay mapped. A
  // kernel that begins with all pages mapped takes its recorded duration plus its waits for pages that it loses.
  void start_beside_others(Nanoseconds now, Nanoseconds recorded);
  // Lets the kernel compute up to and including `until`.
  void advance(Nanoseconds until);
  // Does the same, but only counts the faults that arrive by then, as the driver will flush them. Returns their number,
  // without those in the buffer.
  std::uint32_t advance_unheard(Nanoseconds until);
  // Lets the kernel compute up to and including `until`, or until a fault is in the buffer.
  void advance_to_fault(Nanoseconds until);
  // Applies a replay that the driver issued at `now` and that reaches the first `sms` SMs.
  void replay(Nanoseconds now, std::uint32_t sms);
  // Returns whether nothing happens without a replay. The last event was at latest().
  bool waits() const { return agenda_->empty(); }
  Nanoseconds latest() const { return present_ + away_; }
  // Stops the kernel and its own clock until resume(), while the GPU computes for another process.
  void suspend(Nanoseconds now);
  void resume(Nanoseconds now);
  Nanoseconds suspended_at() const { return suspended_at_; }  // INT64_MAX: it is not suspended

  bool finished() const { return idle_lanes_ == lanes_.size() && next_unit_ == work_.units; }
  Nanoseconds end() const { return end_ + away_; }
  const KernelWork& work() const { return work_; }

 private:
  Nanoseconds ns(std::uint64_t n) const { return Nanoseconds(static_cast<std::int64_t>(n)); }
  // Returns the time on the kernel's own clock, which stands still while the kernel is suspended. All times below are
  // of this clock.
  Nanoseconds own(Nanoseconds time) const { return std::min(time, suspended_at_) - away_; }
  void compute(Nanoseconds until);
  const PageMask& usable(std::uint64_t block, bool write) const {
    const ProcessorPages& mine = space_.pages(BlockIndex(block), me_);
    return write ? mine.writable : mine.mapped;
  }
  // Returns the first page in [first, end) of the block that this GPU may not access so; `end` if there is none.
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
  // Does the same for positions of an operand.
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
  // Returns how many of the unit's warps that access a page raise faults of their own.
  std::uint16_t faulting_warps(std::uint32_t warps) const {
    return gmmu_.warps_share_faults ? std::uint16_t{1} : static_cast<std::uint16_t>(std::min(warps, 1024u));
  }
  // Notes whether pages were unmapped. Call before the pages are looked at.
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
  // Queues the lane's present part (all loads or all stores of a step) at its SM. Returns false if the part has no
  // accesses. Skips steps without accesses and moves `now` past them.
  bool issue(std::uint32_t index, Nanoseconds& now);
  bool issue_slice(const SectionRun& section, Lane& lane, Nanoseconds& now) const;
  bool issue_tile(const SectionRun& section, Lane& lane, const Share* shares, Nanoseconds& now) const;
  bool issue_other(const SectionRun& section, Lane& lane, const Share* shares, Nanoseconds& now) const;
  void queue_part(Lane& lane, std::uint32_t index, Nanoseconds now);
  void begin_section();
  void look_at_operands();
  // If pages were unmapped, operands that were found fully mapped must be watched again.
  void notice_unmaps() {
    if (unmapped_) watch_again();
  }
  void watch_again();
  bool operand_mapped(SectionRun& section, std::uint32_t index) const;
  bool run_mapped(const PageRun& run) const {
    const unsigned end = unsigned{run.first} + run.count;
    return first_missing(run.block.value, run.write, run.first, end) == end;
  }
  // Call when an access of the lane passes, or when all accesses of its part are taken.
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
  std::vector<SectionRun> sections_;  // of work_, after the start
  unsigned gpu_;
  const config::SystemConfig& system_;
  const config::GmmuConfig gmmu_;  // a copy, for speed
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
  std::unique_ptr<Agenda> agenda_;   // its subjects are the SMs, then the lanes
  std::vector<Share> shares_;        // by lane and operand (plan_shares())
  std::size_t most_operands_ = 0;    // the most of any section
  std::vector<NextSlice> slices_;    // by operand
  std::uint32_t watching_from_ = 0;  // sections before this one watch all their operands
  std::uint64_t unmap_epoch_ = 0;
  bool unmapped_ = false;  // a page was unmapped since then
  // Increases when mapped pages may have been unmapped, or when other operands are watched.
  std::uint32_t view_ = 1;
  std::uint64_t viewed_unmaps_ = 0;
  std::uint64_t next_unit_ = 0;
  std::uint32_t next_section_ = 0;
  std::size_t idle_lanes_ = 0;
  std::uint32_t issue_depth_ = 1;  // parts that an SM has under way
  Nanoseconds block_start_{};
  Nanoseconds block_dispatch_{};
  Nanoseconds load_time_{};       // duration of a step's loads
  Nanoseconds load_times_[2];     // the same, by whether the step loads
  Nanoseconds turn_times_[2][2];  // rest of a step: by whether it stores, whether it loads
  Nanoseconds present_{};         // time of the current event
  Nanoseconds horizon_{};         // until then nothing is mapped or unmapped
  gmmu::FaultUnit fault_unit_;
  Nanoseconds unheard_until_{-1};  // faults that arrive by then are only counted
  std::uint32_t unheard_ = 0;
  Nanoseconds end_{};
  Nanoseconds away_{};  // time suspended, up to the last resume()
  Nanoseconds suspended_at_{INT64_MAX};
};

}  // namespace uvmsim::engine
