// SPDX-License-Identifier: Apache-2.0
// The host thread of a process: it issues the records in program order, runs ahead of the GPU, and waits where the API
// waits.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/engine/driver_stack.h"
#include "sim/engine/ideal_clock.h"
#include "sim/engine/streams.h"

namespace uvmsim::engine {

class HostThread {
 public:
  // Is notified when the program reaches a repetition of an iteration.
  class Listener {
   public:
    virtual void before_repetition() = 0;  // before its first record is taken
    virtual void repetition_begins() = 0;  // after its first record is taken
   protected:
    ~Listener() = default;
  };

  HostThread(Process& process, layout::Layout& layout, Accounts& accounts, DriverStack& driver, Streams& streams,
             Listener& listener);

  void start() { schedule(process_.start); }
  // Handles EventKind::kHost.
  void step();
  // Call when work of a stream is done, for which the host may wait.
  void work_done();

  bool scheduled() const { return scheduled_; }
  bool at_end() const { return at_end_; }
  Nanoseconds time() const { return time_; }
  std::uint64_t records() const { return record_number_; }  // taken so far
  const IdealClock& ideal() const { return ideal_; }        // from the program's start

  // Counts that many records as issued.
  void leave_out(std::uint64_t records) { record_number_ += records; }
  // Call only while no work is under way.
  void add_state(StateDigest& digest);

 private:
  // The outcome of an attempt to issue a record.
  enum class Issue : std::uint8_t {
    kDone,
    kRetry,  // the host waits, then tries again
    kWait,   // the record is issued, and the host waits before the next one
  };
  // The progress of the current record.
  enum class Stage : std::uint8_t { kNone, kTaken, kDue, kIssued };
  // The condition that the host waits for.
  struct Wait {
    enum class Kind : std::uint8_t { kNone, kDevice, kStream, kEvent, kQueue, kRoom, kMarks } kind = Kind::kNone;
    std::uint32_t stream = 0;
    std::size_t recording = 0;
  };

  void schedule(Nanoseconds time);
  void pay(std::uint64_t ns) { time_ += Nanoseconds(static_cast<std::int64_t>(ns)); }
  void pay_gap();
  void pay_for_allocation(std::uint64_t ns);
  void pay_for_layout(const layout::Layout::Taken& taken);
  std::uint64_t managed_free_ns(const layout::BlockList& blocks, std::uint64_t bytes) const;

  bool satisfied(const Wait& wait) const;
  bool wait_for(const Wait& wait);
  bool wait_for_device();
  Issue wait_after(const Wait& wait) { return wait_for(wait) ? Issue::kDone : Issue::kWait; }
  bool wait_for_room(std::uint32_t stream) { return wait_for({Wait::Kind::kQueue, stream, 0}); }
  // For records that take no place in a launch queue.
  bool wait_for_any_room() { return wait_for({Wait::Kind::kRoom, 0, 0}); }

  bool take_record();
  bool go_on();
  void follow();
  Issue issue(const trace::ObjectAlloc& object);
  Issue issue(const trace::ObjectFree& object);
  Issue issue(const trace::TensorAlloc& tensor);
  Issue issue(const trace::TensorFree& tensor);
  Issue issue(trace::Kernel& kernel);
  Issue issue(const trace::Memcpy& copy);
  Issue issue(const trace::Memset& set);
  Issue issue(const trace::Prefetch& prefetch);
  Issue issue(const trace::Advise& advise);
  Issue issue(const trace::Discard& discard);
  Issue issue(const trace::Sync& sync);
  Issue issue(const trace::HostAccess& access);
  Issue issue(trace::Range& range);
  Issue issue(const trace::UvmCounter&) { return Issue::kDone; }

  void submit(std::uint32_t stream, Operation::Work work);
  Issue launch(std::uint32_t stream, Operation::Work work, std::int64_t ideal_ns);
  Issue launch_copy(trace::Kernel kernel);
  void take_device_memory(std::int32_t device, std::uint64_t bytes);
  void check_device(std::int32_t device, const char* what) const;
  void refuse_in_place(trace::ObjectId id, const char* what) const;
  std::optional<std::size_t> recording_of(std::uint64_t event) const;
  std::optional<PeerCopyOperation> peer_copy(const trace::Memcpy& copy) const;
  bool touch(BlockIndex block, unsigned page, bool write);
  bool free(trace::ObjectId id, bool tensor);
  void free_in_place(trace::ObjectId id, bool tensor);
  bool free_released();
  void release(BlockIndex first, std::uint64_t count);
  std::vector<driver::BlockSpan> advised_spans(const trace::Advise& advise);

  Process& process_;
  layout::Layout& layout_;
  Accounts& accounts_;
  DriverStack& driver_;
  Streams& streams_;
  Listener& listener_;
  EventQueue& events_;
  IdealClock ideal_;
  Nanoseconds time_;
  Wait wait_;
  bool scheduled_ = false;
  bool at_end_ = false;
  trace::Record record_;
  Stage stage_ = Stage::kNone;
  std::uint64_t record_number_ = 0;    // number of the last record taken
  std::uint64_t recorded_number_ = 0;  // of record_ in the recording, without repetitions
  struct {
    std::size_t part = 0;                                                  // see touch_of() in calls.h
    std::uint64_t page = 0;                                                // page within the part
  } touched_;                                                              // progress of the current HostAccess
  std::unordered_map<std::uint64_t, std::size_t> events_recorded_;         // by event: its last recording
  std::deque<std::pair<std::uint64_t, trace::ObjectId>> retired_tensors_;  // the free's record number, and the tensor
};

}  // namespace uvmsim::engine
