// Draws a run for Perfetto (ui.perfetto.dev) or chrome://tracing: the Chrome trace event format, an array of events.
//
// Events are written as they come, so a timeline of any length needs a constant amount of memory. One process per GPU
// and one for the host; their tracks:
//   GPU n   stream s             kernels
//           fault batches        first fault's arrival until the replay; service start, counts and blocks as arguments
//           migration HtoD/DtoH/DtoD   one slice per transaction, category = cause (fault, prefetch, evict, ...)
//           evictions, remote maps     instants
//           residency            counter: resident and chunk bytes
//   host    ranges               iterations and named ranges
//           CPU faults, thrashing
//           SSD reads, SSD writes      one slice per request, from the end of the one before
// Of several programs at once each has a host process of its own.
// Times are simulated; `ts` and `dur` are microseconds with the nanoseconds as decimals.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/common/atomic_file.h"
#include "sim/report/event_sink.h"

namespace uvmsim::report {

class Timeline final : public EventSink {
 public:
  // Opens the file; throws InputError when it cannot be written. Nothing appears at `path` before finish().
  explicit Timeline(const std::string& path);
  ~Timeline() override;

  // What one of several programs tells its events; the timeline owns it.
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

  // Completes the array and puts the file in place. No event after it.
  void finish();

 private:
  class OfProgram;
  struct Track {
    std::uint64_t process;
    std::uint64_t thread;
  };

  void draw(const CpuFaultEvent& event, std::uint64_t host_process);
  void draw(const ThrashingEvent& event, std::uint64_t host_process);
  void draw(const RangeEvent& event, std::uint64_t host_process);

  void name_process(std::uint64_t process);
  Track named_track(std::uint64_t process, std::uint64_t thread, std::string_view name);
  void slice(Track track, std::string_view name, std::string_view category, Nanoseconds start, Nanoseconds end,
             std::string_view arguments);
  void instant(Track track, std::string_view name, std::string_view category, Nanoseconds at,
               std::string_view arguments);
  void write_residency(const ResidencyEvent& event);
  void write_event(std::string_view text);

  AtomicFile file_;
  bool first_ = true;
  std::vector<std::unique_ptr<OfProgram>> programs_;
  std::vector<std::string> program_names_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> named_threads_;
  std::set<std::uint64_t> named_processes_;
  std::map<std::int32_t, Nanoseconds> fault_batches_end_;  // per device, of the last slice drawn
  std::array<Nanoseconds, 2> storage_end_{};               // reads, writes: of the last slice drawn
  std::map<std::int32_t, ResidencyEvent> residency_;       // per device, the last one, not yet written
};

}  // namespace uvmsim::report
