#include "sim/report/timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/json_text.h"
#include "sim/report/numbers.h"

namespace uvmsim::report {
namespace {

constexpr std::uint64_t kHostProcess = 1;
constexpr std::uint64_t kFirstGpuProcess = 2;
constexpr std::uint64_t kFirstProgramProcess = 100;

// Track numbers within a process, in the order in which viewers show them.
constexpr std::uint64_t kRanges = 1;
constexpr std::uint64_t kCpuFaults = 2;
constexpr std::uint64_t kThrashing = 3;
constexpr std::uint64_t kSsdReads = 4;
constexpr std::uint64_t kSsdWrites = 5;

constexpr std::uint64_t kFaultBatches = 1;
constexpr std::uint64_t kHostToDevice = 2;
constexpr std::uint64_t kDeviceToHost = 3;
constexpr std::uint64_t kDeviceToDevice = 4;
constexpr std::uint64_t kEvictions = 5;
constexpr std::uint64_t kRemoteMaps = 6;
constexpr std::uint64_t kFirstStream = 100;

// Residency changes with every block served; a picture needs no more samples than this.
constexpr Nanoseconds kResidencyInterval = microseconds(10);

std::string_view name_of(TransferCause cause) {
  switch (cause) {
    case TransferCause::kUser:
      return "user";
    case TransferCause::kFault:
      return "fault";
    case TransferCause::kPrefetch:
      return "prefetch";
    case TransferCause::kEvict:
      return "evict";
    case TransferCause::kAccessCounter:
      return "access counter";
  }
  return "unknown";
}

std::uint64_t process_of(std::int32_t device) {
  return device < 0 ? kHostProcess : kFirstGpuProcess + static_cast<std::uint64_t>(device);
}

}  // namespace

// GPUs are everybody's, the host is the program's.
class Timeline::OfProgram final : public EventSink {
 public:
  OfProgram(Timeline& timeline, std::uint64_t process) : timeline_(timeline), process_(process) {}

  void on(const KernelEvent& event) override { timeline_.on(event); }
  void on(const FaultBatchEvent& event) override { timeline_.on(event); }
  void on(const TransferEvent& event) override { timeline_.on(event); }
  void on(const EvictionEvent& event) override { timeline_.on(event); }
  void on(const RemoteMapEvent& event) override { timeline_.on(event); }
  void on(const ResidencyEvent& event) override { timeline_.on(event); }
  void on(const CpuFaultEvent& event) override { timeline_.draw(event, process_); }
  void on(const ThrashingEvent& event) override { timeline_.draw(event, process_); }
  void on(const RangeEvent& event) override { timeline_.draw(event, process_); }

 private:
  Timeline& timeline_;
  std::uint64_t process_;
};

Timeline::Timeline(const std::string& path) : file_(path) { file_.write("[\n"); }

Timeline::~Timeline() = default;

EventSink* Timeline::of_program(std::string_view name) {
  program_names_.emplace_back(name);
  programs_.push_back(std::make_unique<OfProgram>(*this, kFirstProgramProcess + programs_.size()));
  return programs_.back().get();
}

void Timeline::on(const KernelEvent& event) {
  const Track track =
      named_track(process_of(event.device), kFirstStream + event.stream, fmt::format("stream {}", event.stream));
  slice(track, event.name, "kernel", event.start, event.end, "");
}

void Timeline::on(const FaultBatchEvent& event) {
  // The first fault of a batch may arrive while the batch before is served; slices of one track must not overlap.
  Nanoseconds& drawn_until = fault_batches_end_[event.device];
  const Nanoseconds start = std::min(std::max(event.start, drawn_until), event.end);
  drawn_until = std::max(drawn_until, event.end);
  slice(
      named_track(process_of(event.device), kFaultBatches, "fault batches"),
      event.write ? "write faults" : "read faults", "fault batch", start, event.end,
      fmt::format(
          R"("first_fault_us":{},"service_start_us":{},"raw_faults":{},"faulting_pages":{},"blocks":{},"lowest_address":"{:#x}")",
          format_us(event.start), format_us(event.service_start), event.raw_faults, event.faulting_pages, event.blocks,
          event.lowest_address));
}

void Timeline::on(const TransferEvent& event) {
  Track track{};
  switch (event.direction) {
    case TransferDirection::kHostToDevice:
      track = named_track(process_of(event.device), kHostToDevice, "migration HtoD");
      break;
    case TransferDirection::kDeviceToHost:
      track = named_track(process_of(event.device), kDeviceToHost, "migration DtoH");
      break;
    case TransferDirection::kDeviceToDevice:
      track = named_track(process_of(event.device), kDeviceToDevice, "migration DtoD");
      break;
  }
  const std::string_view cause = name_of(event.cause);
  slice(track, cause, cause, event.start, event.end,
        fmt::format(R"("bytes":{},"address":"{:#x}")", event.bytes, event.address));
}

void Timeline::on(const StorageEvent& event) {
  // Requests overlap in the device's queue; slices of one track must not, so each begins where the one before ends.
  Nanoseconds& drawn_until = storage_end_[event.write ? 1 : 0];
  const Nanoseconds start = std::max(event.start, drawn_until);
  drawn_until = event.end;
  slice(event.write ? named_track(kHostProcess, kSsdWrites, "SSD writes")
                    : named_track(kHostProcess, kSsdReads, "SSD reads"),
        event.write ? "write" : "read", "ssd", start, event.end,
        fmt::format(R"("bytes":{},"address":"{:#x}","submitted_us":{})", event.bytes, event.address,
                    format_us(event.start)));
}

void Timeline::on(const EvictionEvent& event) {
  instant(named_track(process_of(event.device), kEvictions, "evictions"), "eviction", "eviction", event.at,
          fmt::format(R"("copied_bytes":{},"address":"{:#x}")", event.copied_bytes, event.address));
}

void Timeline::on(const CpuFaultEvent& event) { draw(event, kHostProcess); }
void Timeline::on(const ThrashingEvent& event) { draw(event, kHostProcess); }
void Timeline::on(const RangeEvent& event) { draw(event, kHostProcess); }

void Timeline::draw(const CpuFaultEvent& event, std::uint64_t host_process) {
  slice(named_track(host_process, kCpuFaults, "CPU faults"), event.write ? "CPU write fault" : "CPU read fault",
        "cpu fault", event.start, event.end, fmt::format(R"("address":"{:#x}")", event.address));
}

void Timeline::on(const RemoteMapEvent& event) {
  instant(named_track(process_of(event.device), kRemoteMaps, "remote maps"), "remote map", "remote map", event.at,
          fmt::format(R"("bytes":{},"address":"{:#x}")", event.bytes, event.address));
}

void Timeline::draw(const ThrashingEvent& event, std::uint64_t host_process) {
  instant(named_track(host_process, kThrashing, "thrashing"), "thrashing", "thrashing", event.at,
          fmt::format(R"("address":"{:#x}")", event.address));
}

void Timeline::on(const ResidencyEvent& event) {
  const auto [sample, inserted] = residency_.try_emplace(event.device, event);
  if (inserted) return;
  // The last value of every interval, at the time it was reached.
  if (event.at.value / kResidencyInterval.value != sample->second.at.value / kResidencyInterval.value) {
    write_residency(sample->second);
  }
  sample->second = event;
}

void Timeline::draw(const RangeEvent& event, std::uint64_t host_process) {
  slice(named_track(host_process, kRanges, "ranges"), event.name, "range", event.start, event.end, "");
}

void Timeline::finish() {
  for (const auto& [device, event] : residency_) write_residency(event);
  residency_.clear();
  file_.write("\n]\n");
  file_.commit();
}

void Timeline::name_process(std::uint64_t process) {
  if (!named_processes_.insert(process).second) return;
  std::string name = "host";
  if (process >= kFirstProgramProcess) {
    name += ": " + program_names_[static_cast<std::size_t>(process - kFirstProgramProcess)];
  } else if (process != kHostProcess) {
    name = fmt::format("GPU {}", process - kFirstGpuProcess);
  }
  write_event(
      fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", process, json_text(name)));
}

Timeline::Track Timeline::named_track(std::uint64_t process, std::uint64_t thread, std::string_view name) {
  const Track track{process, thread};
  if (!named_threads_.insert({process, thread}).second) return track;
  name_process(process);
  write_event(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})", process,
                          thread, name));
  write_event(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"thread_sort_index","args":{{"sort_index":{}}}}})",
                          process, thread, thread));
  return track;
}

void Timeline::slice(Track track, std::string_view name, std::string_view category, Nanoseconds start, Nanoseconds end,
                     std::string_view arguments) {
  write_event(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"cat":"{}","name":{},"args":{{{}}}}})",
                          track.process, track.thread, format_us(start), format_us(end - start), category,
                          json_text(name), arguments));
}

void Timeline::instant(Track track, std::string_view name, std::string_view category, Nanoseconds at,
                       std::string_view arguments) {
  write_event(fmt::format(R"({{"ph":"i","s":"t","pid":{},"tid":{},"ts":{},"cat":"{}","name":{},"args":{{{}}}}})",
                          track.process, track.thread, format_us(at), category, json_text(name), arguments));
}

void Timeline::write_residency(const ResidencyEvent& event) {
  const std::uint64_t process = process_of(event.device);
  name_process(process);
  write_event(
      fmt::format(R"({{"ph":"C","pid":{},"ts":{},"name":"residency","args":{{"resident_bytes":{},"chunk_bytes":{}}}}})",
                  process, format_us(event.at), event.resident_bytes, event.chunk_bytes));
}

void Timeline::write_event(std::string_view text) {
  if (!first_) file_.write(",\n");
  first_ = false;
  file_.write(text);
}

}  // namespace uvmsim::report
