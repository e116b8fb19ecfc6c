// SPDX-License-Identifier: Apache-2.0
// The streams of a process: work that the host submitted, in order, and the kernels in progress.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "sim/engine/access_costs.h"
#include "sim/engine/ideal_clock.h"
#include "sim/engine/iterations.h"
#include "sim/engine/kernel_run.h"

namespace uvmsim::engine {

class Streams {
 public:
  Streams(Process& process, const layout::Layout& layout, Accounts& accounts, DriverStack& driver,
          Iterations& iterations);

  // Called by the host.
  void submit(std::uint32_t stream, Operation operation);
  // Returns the number of a new recording. Programs record the same event again and again; a wait is for the recording
  // issued last before it.
  std::size_t new_recording();
  bool recording_done(std::size_t recording) const { return recordings_done_[recording]; }
  bool has_room(std::uint32_t stream) const;
  bool has_any_room() const;
  bool idle(std::uint32_t stream) const { return stream >= streams_.size() || streams_[stream].queue.empty(); }
  bool idle() const;
  // Returns whether all work left in the stream is marks, which take no time.
  bool only_marks(std::uint32_t stream) const;
  // Returns the record of the oldest work that is not done, `limit` if it is not below that.
  std::uint64_t oldest_record(std::uint64_t limit) const;

  // Handle EventKind::kStreamStart and kOperationEnd. end_operation() returns false if the event is stale because the
  // GPU was preempted for another process.
  void start_operation(std::uint32_t stream);
  bool end_operation(std::uint32_t stream);
  // Schedules the ends of kernels whose units are all done.
  void finish_runs();
  // Returns whether a stream has an operation running or scheduled.
  bool at_work() const;
  Nanoseconds last_completion() const { return last_completion_; }

  // For a GPU whose time processes share. wants() returns whether a kernel runs on it, or waits for nothing but the
  // GPU. suspend() and resume(): the GPU computes for others from now on, or for this process again.
  bool wants(unsigned gpu) const;
  void suspend(unsigned gpu);
  void resume(unsigned gpu);

  // Returns the end mark of an iteration, if one is still in a stream; else null. The iteration will count everything
  // that happens before the mark is reached.
  const MarkOperation* pending_end() const;
  // Returns the number of scheduled streams; absent while there is work other than marks.
  std::optional<std::size_t> add_state(StateDigest& digest, const IdealClock& ideal) const;

 private:
  struct Stream {
    std::deque<Operation> queue;
    bool running = false;  // its front operation has started
    bool scheduled = false;
    Nanoseconds free_at{};
    std::unique_ptr<KernelRun> run;
    InPlaceAtStart in_place_at_start;  // of a kernel that faults, over a coherent link
    Nanoseconds started{};
    bool blocked = false;       // its front operation waits for an event
    Nanoseconds ends = kNever;  // end of its front operation, if nothing stops it
    Nanoseconds left = kNever;  // time left of a suspended kernel

    // Returns the kernel at its front if it runs on that GPU, else null.
    const KernelOperation* running_kernel(unsigned gpu) const;
  };

  void schedule(std::uint32_t index);
  void ends_at(Nanoseconds end, std::uint32_t index);
  void kernel_ends_at(Nanoseconds end, std::uint32_t index, Nanoseconds standing);
  void start(std::uint32_t index, const KernelOperation& operation, Nanoseconds now);
  void start(std::uint32_t index, const CopyOperation& copy, Nanoseconds now);
  void start(std::uint32_t index, const PeerCopyOperation& copy, Nanoseconds now);
  void start(std::uint32_t index, const PrefetchOperation& prefetch, Nanoseconds now);
  void start(std::uint32_t index, const DiscardOperation& discard, Nanoseconds now);
  void start(std::uint32_t index, const EventOperation& event, Nanoseconds now);
  void start(std::uint32_t index, const MarkOperation& mark, Nanoseconds now);
  void run_mapped(std::uint32_t index, const KernelOperation& operation, Nanoseconds now);
  void count_kernel(const KernelOperation& operation, std::uint32_t index, Nanoseconds now);
  Nanoseconds start_delay() const { return Nanoseconds(static_cast<std::int64_t>(process_.costs().kernel_start_ns)); }

  Process& process_;
  const layout::Layout& layout_;
  Accounts& accounts_;
  DriverStack& driver_;
  Iterations& iterations_;
  EventQueue& events_;
  AccessCosts access_costs_;
  std::vector<Stream> streams_;
  std::size_t queued_ = 0, queued_names_ = 0;  // operations in all streams, and the bytes of their names
  std::vector<bool> recordings_done_;          // by number of a recording
  std::vector<Nanoseconds> suspended_;         // by GPU: since when it computes for others; kNever: it does not
  std::uint64_t images_;  // in NCHW tensors, by the header or the last kernel that shows it; 0: unknown
  Nanoseconds last_completion_;
};

}  // namespace uvmsim::engine
