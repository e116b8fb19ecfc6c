// SPDX-License-Identifier: Apache-2.0
// Draws a run for Perfetto (ui.perfetto.dev) or chrome://tracing: the Chrome trace event format, an object whose
// `traceEvents` are the events and whose `otherData` describes the run. The file is compressed if its name ends in
// ".gz".
//
// Events are written as they come; what stays in memory is a few numbers per fault batch and copy. One process per GPU
// and one for the host, the host first; their tracks:
//   GPU n   stream s             kernels, by short names; as arguments the whole name, and what happened on the GPU
//                                meanwhile: fault batches, bytes of each direction; the time beyond its compute
//           fault batches        first fault's arrival until the replay; service start, counts and blocks as arguments
//           migration HtoD/DtoH/DtoD   one slice per transaction, category = cause (fault, prefetch, evict, ...)
//           evictions, remote maps     instants
//           turns                of a GPU that several programs share in time slices: whose context is on it, by the
//                                program's name, and "change" while it changes
//           residency            counter: resident and chunk bytes
//           links, faults, evictions   counters: GB/s of each direction, raw faults and chunks, per millisecond
//   host    ranges               iterations and named ranges
//           CPU faults, thrashing
//           SSD reads, SSD writes      one slice per request, from the end of the one before
// Of several programs at once each has a host process of its own, and its kernels have tracks of their own on every
// GPU, "program: stream s". Times are simulated; `ts` and `dur` are microseconds with the nanoseconds as decimals.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/events/event_sink.h"
#include "sim/report/compressed_file.h"
#include "sim/report/run_record.h"
#include "sim/report/timeline_window.h"

namespace uvmsim::report {

class Timeline final : public EventSink {
 public:
  // Opens the file; throws InputError when it cannot be written. Nothing appears at `path` before finish().
  explicit Timeline(const std::string& path, const TimelineWindow& window = {});
  ~Timeline() override;

  bool wants_accounts() const override { return filter_.wants_accounts(); }

  // Returns the sink for one of several programs; the timeline owns it.
  EventSink* of_program(std::string_view name);

  void on(const KernelEvent& event) override;
  void on(const FaultBatchEvent& event) override;
  void on(const TransferEvent& event) override;
  void on(const StorageEvent& event) override;
  void on(const EvictionEvent& event) override;
  void on(const CpuFaultEvent& event) override;
  void on(const RemoteMapEvent& event) override;
  void on(const ThrashingEvent& event) override;
  void on(const ResidencyEvent& event) override;
  void on(const RangeEvent& event) override;
  void on(const TurnEvent& event) override;
  void on(const IterationEvent& event) override { filter_.note(event); }
  void on(const WorkStartEvent& event) override { filter_.note(event); }
  void on(const WorkEndEvent& event) override { filter_.note(event); }

  // Completes the file and renames it. No event may follow. `record` is the run, whose name goes into the file; null
  // for several programs at once.
  void finish(const RunRecord* record);

 private:
  class OfProgram;
  struct Track {
    std::uint64_t process;
    std::uint64_t thread;
  };
  // The cumulative sums of a GPU at a moment.
  struct Sums {
    Nanoseconds at{};
    std::uint64_t batches = 0, htod_bytes = 0, dtoh_bytes = 0;
  };
  // The sums of a GPU within a millisecond.
  struct Bucket {
    std::uint64_t htod_bytes = 0, dtoh_bytes = 0, raw_faults = 0, evictions = 0;
  };
  struct OfGpu {
    std::vector<Sums> sums;                  // ascending
    std::map<std::int64_t, Bucket> buckets;  // by millisecond
  };

  std::uint64_t host_process() const;
  void name_process(std::uint64_t process);
  void write_names(std::string_view kind, const std::string& which, std::string_view name, std::uint64_t place);
  Track named_track(std::uint64_t process, std::uint64_t thread, std::string_view name);
  void slice(Track track, std::string_view name, std::string_view category, Nanoseconds start, Nanoseconds end,
             std::string_view arguments);
  void instant(Track track, std::string_view name, std::string_view category, Nanoseconds at,
               std::string_view arguments);
  void add(OfGpu& gpu, Nanoseconds at, const Sums& more);
  static Sums between(const OfGpu& gpu, Nanoseconds start, Nanoseconds end);
  void write_counter(std::uint64_t process, std::string_view name, Nanoseconds at, std::string_view values);
  void write_buckets(std::int32_t device, const OfGpu& gpu);
  void write_residency(const ResidencyEvent& event);
  void write_event(std::string_view text);

  CompressedFile file_;
  WindowFilter filter_;
  bool first_ = true;
  std::vector<std::unique_ptr<OfProgram>> programs_;
  std::vector<std::string> program_names_;
  std::optional<std::size_t> program_;  // the program of the current event, if there are several
  std::set<std::pair<std::uint64_t, std::uint64_t>> named_threads_;
  std::set<std::uint64_t> named_processes_;
  std::map<std::int32_t, Nanoseconds> fault_batches_end_;  // per device, of the last slice drawn
  std::array<Nanoseconds, 2> storage_end_{};               // reads, writes: of the last slice drawn
  std::map<std::int32_t, ResidencyEvent> residency_;       // per device, the last one, not yet written
  std::map<std::int32_t, OfGpu> gpus_;                     // by device
};

}  // namespace uvmsim::report
