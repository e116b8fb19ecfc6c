// SPDX-License-Identifier: Apache-2.0
// A kernel in progress on one GPU: the resident units, the accesses that they wait for, and the raw faults that their
// SMs raise.
//
// Every SM has one queue of accesses, served in order. After its first miss it stops, hits and all, until the next
// replay (sim/gpu says when, and what it may have outstanding). Between two changes of the page tables SMs have nothing
// in common but the numbers of the next units and the fault unit: each computes by itself, in slices of time so short
// that most units that begin in a slice are numbered before it; the fault unit puts their requests in order as far as
// the driver looks. A page that a unit waited for counts as touched once it was mapped at a replay, so that a kernel
// larger than memory makes progress.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/common/check.h"
#include "sim/common/random.h"
#include "sim/engine/even_steps.h"
#include "sim/engine/kernel_work.h"
#include "sim/engine/section_run.h"
#include "sim/engine/sm_queue.h"
#include "sim/events/counters.h"
#include "sim/gmmu/fault_buffer.h"
#include "sim/gpu/fault_path.h"
#include "sim/gpu/fault_unit.h"

namespace uvmsim::engine {

class KernelRun {
  // A place on an SM and the unit that is resident there; units follow one another.
  static constexpr std::uint16_t kFullPace = 256;
  struct Resident {
    std::uint64_t unit = 0;
    const SectionRun* section = nullptr;
    std::uint32_t step = 0;
    std::uint32_t pending = 0;  // accesses of this part that missed and are waited for, and one while any is not taken
    // Steps before these find their loads and stores mapped: seen at that view.
    std::uint32_t clear[2] = {0, 0};
    std::uint32_t clear_view = 0;
    std::uint16_t sm = 0;
    std::uint16_t pace = kFullPace;  // its unit takes so much of its computing time, in parts of kFullPace
    bool has_unit = false;
    bool first = false;    // its unit is one of the first, whose start is planned with the kernel's
    bool ended = false;    // none was left
    bool storing = false;  // part of the step: loads, then stores
    bool stored = false;   // its previous part was a store
    bool loaded = false;
  };
  // The begin of the next unit's slice of an operand.
  struct NextSlice {
    EvenSteps begin;
    std::uint64_t first_index = Share::kSplit;  // of the operand, if it is contiguous
    std::size_t stretch = 0;                    // the stretch that holds the begin, or an earlier one
  };
  // What decides how units go through their steps. The functions that most time is spent in exist once for each.
  // kOneStep: plain slices, all of one step, as most units are.
  enum class Units : std::uint8_t { kOneStep, kPlainSlices, kTiles, kOther };
  static constexpr bool plain(Units units) { return units == Units::kOneStep || units == Units::kPlainSlices; }
  // Evenly distributed times.
  struct Times {
    std::int64_t least = 0, range = 0;
  };

 public:
  static constexpr std::uint32_t kAll = ~std::uint32_t{0};
  // Memory of finished kernels, for the next ones.
  class Buffers {
    friend class KernelRun;
    struct Set {
      std::vector<Resident> residents;
      std::vector<SmQueue> sms;
      std::vector<Share> shares;
      std::unique_ptr<gpu::FaultUnit> fault_unit;
      bool whole_gpu = false;  // the order of dispatch that the fault unit was made for
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
  // The kernel computes up to and including `until`.
  // Once so many raw faults are in the buffer, further ones only count: the driver will drop them.
  void advance(Nanoseconds until, std::uint32_t enough = kAll);
  // The same; the driver will drop all faults that arrive by then. Returns how many raw faults these are, beyond those
  // in the buffer.
  std::uint32_t advance_skipping(Nanoseconds until);
  // Lets the kernel compute up to and including `until`, or until a fault is in the buffer.
  void advance_to_fault(Nanoseconds until);
  // Applies a replay that the driver issued at `now` and that reaches the first `sms` SMs.
  void replay(Nanoseconds now, std::uint32_t sms);
  // Nothing happens any more without a replay; its last event was at `latest()`.
  bool waits() const { return earliest() == kNever && fault_unit_->empty(); }
  Nanoseconds latest() const { return present_ + away_; }
  // Stops the kernel and its own clock until resume(), while the GPU computes for another process.
  void suspend(Nanoseconds now);
  void resume(Nanoseconds now);
  Nanoseconds suspended_at() const { return suspended_at_; }  // INT64_MAX: it is not suspended

  bool finished() const {
    return idle_residents_ == residents_.size() && next_unit_ == work_.units && stores_out_ == 0;
  }
  Nanoseconds end() const { return end_ + away_; }
  const KernelWork& work() const { return work_; }

 private:
  // There are at most 4096 SMs of 2048 warps; a slice takes at most 20 s.
  static constexpr unsigned kBeginResidentBits = 24;
  Nanoseconds ns(std::uint64_t n) const { return Nanoseconds(static_cast<std::int64_t>(n)); }
  // Returns the time on the kernel's own clock, which stands still while the kernel is suspended. All times below are
  // of this clock.
  Nanoseconds own(Nanoseconds time) const { return std::min(time, suspended_at_) - away_; }
  void compute(Nanoseconds until, std::uint32_t enough);
  const PageMask& usable(std::uint64_t block, bool write) const {
    const ProcessorPages& mine = space_.pages(BlockIndex(block), me_);
    return write ? mine.writable : mine.mapped;
  }
  // Returns the first page in [first, end) of the block that this GPU may not access so; `end` if there is none.
  // Always inline: millions of looks per second of simulation are a few instructions each.
  [[gnu::always_inline]] unsigned first_missing(std::uint64_t block, bool write, unsigned first, unsigned end) const {
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
  [[gnu::always_inline]] std::uint64_t first_missing(const Operand& operand, const Share& share,
                                                     const PageRange& pages) const {
    for (std::uint64_t position = pages.begin; position < pages.end;) {
      const PageRun run = operand.run(share, position, pages.end);
      const unsigned end = unsigned{run.first} + run.count;
      const unsigned missed = first_missing(run.block.value, operand.write, run.first, end);
      if (missed != end) return position + (missed - run.first);
      position += run.count;
    }
    return pages.end;
  }
  // Returns the requests of one instruction of a warp.
  static std::uint16_t instruction_requests(const AccessSize& size, bool write) {
    const std::uint32_t request = write ? kStoreBytes : kLoadBytes;
    return static_cast<std::uint16_t>((size.instruction_bytes + request - 1) / request);
  }
  // Returns the requests of so many warps to a page that they share.
  std::uint16_t requests(std::uint32_t warps, const AccessSize& size, bool write) const {
    if (gmmu_.warps_share_faults) return 1;
    const std::uint64_t bytes = std::min<std::uint64_t>(std::uint64_t{warps} * size.warp_bytes, kBasePageBytes);
    const std::uint64_t instructions =
        std::max<std::uint64_t>(1, (bytes + size.instruction_bytes - 1) / size.instruction_bytes);
    return static_cast<std::uint16_t>(instructions * instruction_requests(size, write));
  }
  // Notes whether pages were unmapped. Call before the pages are looked at.
  void find_pages() {
    const std::uint64_t unmaps = space_.unmap_epoch(gpu_);
    unmapped_ = unmap_epoch_ != unmaps;
    if (viewed_unmaps_ != unmaps) ++view_;
    viewed_unmaps_ = unmaps;
  }
  // When the first SM has anything to do, unless a replay comes before; kNever: none has.
  Nanoseconds earliest() const;
  bool run_slice(Nanoseconds until);
  void fill_buffer(Nanoseconds until, std::uint32_t enough);
  void number_starts(std::span<const std::uint32_t> due, Nanoseconds from, Nanoseconds until);
  template <Units kUnits>
  void run(std::uint32_t sm_index, Nanoseconds until);
  [[gnu::always_inline]] void note_next(std::uint32_t sm_index, const SmQueue& sm) {
    Nanoseconds next = sm.starts.next_ready();
    if (!sm.blocked) {
      const Nanoseconds ready = sm.taking ? sm.now : sm.parts.next_ready();
      if (ready != kNever) next = std::min(next, std::max(sm.now, ready));
    }
    next_[sm_index] = next;
  }
  // The warps of an SM's oldest block compute first. So its first blocks end one after another, not all at once, though
  // each of the later ones takes as long as all that are resident with it.
  static std::uint16_t pace_of_slot(std::uint32_t slot, std::uint32_t slots) {
    return static_cast<std::uint16_t>(std::max<std::uint64_t>(1, std::uint64_t{kFullPace} * (slot + 1) / slots));
  }
  static Nanoseconds paced(const Resident& resident, Nanoseconds computing) {
    if (resident.pace == kFullPace) return computing;
    const std::int64_t whole = computing.value / kFullPace, rest = computing.value % kFullPace;  // no product overflows
    return Nanoseconds(whole * resident.pace + rest * resident.pace / kFullPace);
  }
  bool take_unit(std::uint32_t index);
  void end_unit(SmQueue& sm, std::uint32_t index, Nanoseconds time);
  Nanoseconds pass_time(const SectionRun& section, bool storing, Nanoseconds running) const;
  Nanoseconds latency(const Resident& resident, std::uint32_t step) const;
  Share* shares_of(std::uint32_t index) { return shares_.data() + index * most_operands_; }
  void plan_shares(std::uint32_t index);
  void plan_slices(const SectionRun& section, Share* share);
  void plan_turns();
  void plan_requests();
  Nanoseconds spread(std::uint64_t most) { return most == 0 ? Nanoseconds{} : ns(random_.below(most)); }
  // Goes on with the resident at `now`: with its present part, all its loads of a step or all its stores, or, if that
  // is done, with the next one. A part joins the SM's queue; parts without accesses are left out, with their time.
  template <class F>
  void with_units(F&& f);
  template <Units kUnits>
  void go_on(SmQueue& sm, std::uint32_t index, Nanoseconds now, bool done);
  void go_on(SmQueue& sm, std::uint32_t index, Nanoseconds now, bool done);
  template <Units kUnits>
  bool issue_slice(const SectionRun& section, Resident& resident, Nanoseconds& now) const;
  bool issue_tile(const SectionRun& section, Resident& resident, const Share* shares, Nanoseconds& now) const;
  bool issue_other(const SectionRun& section, Resident& resident, const Share* shares, Nanoseconds& now) const;
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
  // Call when an access of the resident passes, or when all accesses of its part are taken. Returns whether the part is
  // done.
  bool pass(Resident& resident) {
    UVMSIM_CHECK(resident.pending != 0, "unit {} has nothing pending", resident.unit);
    return --resident.pending == 0;
  }
  template <Units kUnits>
  void serve(SmQueue& sm, std::uint32_t sm_index, Nanoseconds until);
  bool take_rest(SmQueue& sm, std::uint32_t sm_index);
  bool raise(SmQueue& sm, std::uint32_t sm_index, Untaken& next);
  Nanoseconds others_clear_until(const SmQueue& sm) const;
  bool skip_clear_steps(SmQueue& sm, std::uint32_t index, Nanoseconds now);
  // Returns whether later steps of the resident are known to be clear, at the present view.
  bool knows_clear_steps(const Resident& resident) const {
    return !resident.storing && resident.clear_view == view_ && resident.clear[0] > resident.step + 1;
  }
  bool is_clear(const Resident& resident) const {
    return resident.step < resident.clear[resident.storing] && resident.clear_view == view_;
  }
  template <Units kUnits>
  bool look_at_part(const SectionRun& section, Resident& resident, const Share* shares,
                    std::vector<Untaken>& rest) const;
  template <Units kUnits>
  bool look_at_slice(const SectionRun& section, const Resident& resident, const Share* shares,
                     std::vector<Untaken>& rest) const;
  void note_clear_steps(const SectionRun& section, Resident& resident, const Share* shares) const;

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
  Units kind_ = Units::kOther;
  bool beside_others_ = false;
  bool as_recorded_ = false;  // loads and block starts are part of the recorded duration
  std::vector<Resident> residents_;
  std::vector<SmQueue> sms_;
  std::uint32_t sm_count_ = 0;
  std::vector<Nanoseconds> next_;   // of each SM: when it has anything to do, unless a replay comes before
  std::vector<std::uint32_t> due_;  // the SMs that have anything to do in a slice, and room for all
  std::vector<std::uint64_t>
      begins_;                 // of a slice: kBeginResidentBits of the resident, above them its time since the first
  std::vector<Share> shares_;  // by resident and operand: plan_shares()
  std::size_t most_operands_ = 0;    // of a section
  std::vector<NextSlice> slices_;    // of each operand
  std::uint32_t watching_from_ = 0;  // all operands of sections before are watched
  std::uint64_t unmap_epoch_ = 0;
  bool unmapped_ = false;  // a page was unmapped since then
  // Increases when mapped pages may have been unmapped, or when other operands are watched.
  std::uint32_t view_ = 1;
  std::uint64_t viewed_unmaps_ = 0;
  std::uint64_t next_unit_ = 0;
  std::uint32_t next_section_ = 0;
  std::uint64_t section_end_ = 0;  // the first unit after the present section
  std::size_t idle_residents_ = 0;
  bool waits_for_stores_ = false;
  std::uint32_t stores_out_ = 0;  // accesses that missed and that no unit waits for
  Nanoseconds pass_time_{};       // of a request that finds its page mapped
  Nanoseconds burst_times_[2];
  Nanoseconds pass_step_{};  // of a part that finds everything mapped: loads, stores
  Nanoseconds block_start_{};
  Nanoseconds load_time_{};            // of a step's loads
  Nanoseconds migrated_load_time_{};   // from a load of pages that have just come to its data
  Times first_latencies_, latencies_;  // from a unit's first load, and from later ones, to their data
  Nanoseconds load_times_[2];          // the same, by whether it loads
  Nanoseconds turn_times_[2][2];       // of a step after its loads: by whether it stored, whether it loaded
  Nanoseconds present_{};              // the latest that any SM did
  Nanoseconds horizon_{};              // until then nothing is mapped or unmapped
  gpu::FaultPath path_;
  std::unique_ptr<gpu::FaultUnit> fault_unit_;
  bool whole_gpu_ = false;
  Nanoseconds end_{};
  Nanoseconds away_{};  // time suspended, up to the last resume()
  Nanoseconds suspended_at_{INT64_MAX};
};

}  // namespace uvmsim::engine
