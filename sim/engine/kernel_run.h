// A kernel in progress on one GPU: its lanes, what they wait for, and the raw faults they raise.
//
// Lanes compute until they touch a page that is not mapped, then stall and raise faults; the others go on. Only a replay
// lets stalled lanes retry. A page that a lane waited for counts as touched once it was mapped at some replay, so a
// kernel larger than memory makes progress.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/driver/context.h"
#include "sim/engine/kernel_work.h"
#include "sim/gmmu/fault_buffer.h"

namespace uvmsim::engine {

class KernelRun {
 public:
  KernelRun(KernelWork work, unsigned gpu, const config::SystemConfig& system, AddressSpace& space,
            gmmu::FaultBuffer& buffer, Counters& counters);

  // True if every page is mapped, so that the kernel cannot fault as things are.
  bool all_mapped() const;

  void start(Nanoseconds now);
  // Lanes compute up to and including `until`.
  void advance(Nanoseconds until);
  // Lanes compute until one raises a fault or all are done. False if none did.
  bool advance_to_fault();
  // The driver issued a replay at `now`: stalled lanes retry.
  void replay(Nanoseconds now);

  bool finished() const { return done_lanes_ == lanes_.size() && next_unit_ == work_.units; }
  Nanoseconds end() const { return end_; }
  const KernelWork& work() const { return work_; }

 private:
  struct Lane {
    Nanoseconds time{};
    std::uint64_t unit = 0;
    std::uint32_t section = 0;
    std::uint32_t step = 0;
    std::uint32_t sm = 0;
    std::uint16_t waiting_for = 0;
    std::uint8_t part = 0;  // 0: loads, 1: stores
  };

  bool process(std::uint32_t lane, Nanoseconds now);  // true if it raised a fault
  bool take_unit(Lane& lane);
  void collect(std::uint32_t lane);
  void collect_blocks(std::uint32_t index, Lane& lane);
  void collect_threads(std::uint32_t index, Lane& lane);
  void need(std::uint32_t index, Lane& lane, const PageRef& page);
  bool missing(const PageRef& page) const;
  bool raise(std::uint32_t index, Nanoseconds at);
  void enqueue(std::uint32_t index, Nanoseconds time);

  KernelWork work_;
  unsigned gpu_;
  const config::SystemConfig& system_;
  AddressSpace& space_;
  gmmu::FaultBuffer& buffer_;
  Counters& counters_;
  std::vector<Lane> lanes_;
  std::vector<PageRef> waited_;        // [lane][outstanding]
  std::deque<std::uint32_t> ready_;    // by time
  std::vector<std::uint32_t> stalled_;  // in order of stalling
  std::vector<std::uint32_t> sm_order_, sm_first_, sm_cursor_, by_sm_;  // scratch of replay()
  std::uint64_t next_unit_ = 0;
  std::uint32_t next_section_ = 0;
  std::size_t done_lanes_ = 0;
  std::uint64_t replays_ = 0;
  Nanoseconds end_{};
};

}  // namespace uvmsim::engine
