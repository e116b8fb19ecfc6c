// SPDX-License-Identifier: Apache-2.0
#include "sim/report/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/common/version.h"
#include "sim/formats/json.h"
#include "sim/report/kernel_label.h"
#include "sim/report/numbers.h"
#include "sim/trace/limits.h"

namespace uvmsim::report {
namespace {

constexpr std::uint64_t kHostProcess = 1;
constexpr std::uint64_t kFirstGpuProcess = 2;
constexpr std::uint64_t kFirstProgramProcess = 100;

// Track numbers within a process, in the display order of viewers.
enum HostTrack : std::uint64_t { kRanges = 1, kCpuFaults, kThrashing, kSsdReads, kSsdWrites };
enum GpuTrack : std::uint64_t {
  kFaultBatches = 1,
  kHostToDevice,
  kDeviceToHost,
  kDeviceToDevice,
  kEvictions,
  kRemoteMaps,
  kTurns,
  kFirstStream = 100
};

// Residency changes with every served block; a picture needs fewer samples.
constexpr Nanoseconds kResidencyInterval = microseconds(10);
constexpr Nanoseconds kBucket = microseconds(1000);

std::string_view name_of(TransferCause cause) {
  constexpr std::string_view kNames[] = {"unknown", "user", "fault", "prefetch", "evict", "access counter"};
  return kNames[static_cast<std::size_t>(cause)];
}

std::uint64_t process_of(std::int32_t device) {
  return device < 0 ? kHostProcess : kFirstGpuProcess + static_cast<std::uint64_t>(device);
}

}  // namespace

// The sink for one of several programs. The programs share GPUs; each has a host process of its own.
class Timeline::OfProgram final : public EventSink {
 public:
  OfProgram(Timeline& timeline, std::size_t program) : timeline_(timeline), program_(program) {}

  void on(const KernelEvent& event) override { draw(event); }
  void on(const FaultBatchEvent& event) override { draw(event); }
  void on(const TransferEvent& event) override { draw(event); }
  void on(const EvictionEvent& event) override { draw(event); }
  void on(const RemoteMapEvent& event) override { draw(event); }
  void on(const ResidencyEvent& event) override { draw(event); }
  void on(const CpuFaultEvent& event) override { draw(event); }
  void on(const ThrashingEvent& event) override { draw(event); }
  void on(const RangeEvent& event) override { draw(event); }
  void on(const TurnEvent& event) override { draw(event); }

 private:
  template <class Event>
  void draw(const Event& event) {
    timeline_.program_ = program_;
    timeline_.on(event);
  }

  Timeline& timeline_;
  std::size_t program_;
};

Timeline::Timeline(const std::string& path, const TimelineWindow& window) : file_(path), filter_(window) {
  file_.write("{\"traceEvents\":[\n");
}

Timeline::~Timeline() = default;

EventSink* Timeline::of_program(std::string_view name) {
  program_names_.emplace_back(name);
  programs_.push_back(std::make_unique<OfProgram>(*this, programs_.size()));
  return programs_.back().get();
}

void Timeline::add(OfGpu& gpu, Nanoseconds at, const Sums& more) {
  Sums sum = gpu.sums.empty() ? Sums{} : gpu.sums.back();
  sum.at = std::max(sum.at, at);
  sum.batches += more.batches;
  sum.htod_bytes += more.htod_bytes;
  sum.dtoh_bytes += more.dtoh_bytes;
  gpu.sums.push_back(sum);
}

Timeline::Sums Timeline::between(const OfGpu& gpu, Nanoseconds start, Nanoseconds end) {
  const auto until = [&](Nanoseconds at) {
    const auto next = std::upper_bound(gpu.sums.begin(), gpu.sums.end(), at,
                                       [](Nanoseconds moment, const Sums& sums) { return moment < sums.at; });
    return next == gpu.sums.begin() ? Sums{} : *std::prev(next);
  };
  const Sums before = until(start), after = until(end);
  return {end, after.batches - before.batches, after.htod_bytes - before.htod_bytes,
          after.dtoh_bytes - before.dtoh_bytes};
}

std::uint64_t Timeline::host_process() const { return program_ ? kFirstProgramProcess + *program_ : kHostProcess; }

void Timeline::on(const KernelEvent& event) {
  if (!filter_.shows(event.start, event.end)) return;
  std::uint64_t thread = kFirstStream + event.stream;
  std::string name = fmt::format("stream {}", event.stream);
  if (program_) {
    thread += *program_ * (std::uint64_t{trace::kMaxStream} + 1);
    name = fmt::format("{}: {}", program_names_[*program_], name);
  }
  const Track track = named_track(process_of(event.device), thread, name);
  const Sums meanwhile = between(gpus_[event.device], event.start, event.end);
  const Nanoseconds stall = std::max(event.end - event.start - event.compute, Nanoseconds{});
  slice(track, kernel_label(event.name), "kernel", event.start, event.end,
        fmt::format(R"("name":{},"stall_us":{},"fault_batches":{},"htod_bytes":{},"dtoh_bytes":{})",
                    json_text(event.name), format_us(stall), meanwhile.batches, meanwhile.htod_bytes,
                    meanwhile.dtoh_bytes));
}

void Timeline::on(const FaultBatchEvent& event) {
  OfGpu& gpu = gpus_[event.device];
  add(gpu, event.end, {event.end, 1, 0, 0});
  if (!filter_.shows(event.start, event.end)) return;
  gpu.buckets[event.end.value / kBucket.value].raw_faults += event.raw_faults;
  // The first fault of a batch may arrive during the service of the previous batch; slices of one track must not
  // overlap.
  Nanoseconds& drawn_until = fault_batches_end_[event.device];
  const Nanoseconds start = std::min(std::max(event.start, drawn_until), event.end);
  drawn_until = std::max(drawn_until, event.end);
  slice(
      named_track(process_of(event.device), kFaultBatches, "fault batches"),
      event.write ? "write faults" : "read faults", "fault batch", start, event.end,
      fmt::format(
          R"("first_fault_us":{},"service_start_us":{},"raw_faults":{},"pages":{},"sms":{},"faulting_pages":{},"blocks":{},"lowest_address":"{:#x}")",
          format_us(event.start), format_us(event.service_start), event.raw_faults, event.pages, event.sms,
          event.faulting_pages, event.blocks, event.lowest_address));
}

void Timeline::on(const TransferEvent& event) {
  OfGpu& gpu = gpus_[event.device];
  const bool in = event.direction == TransferDirection::kHostToDevice;
  const bool out = event.direction == TransferDirection::kDeviceToHost;
  add(gpu, event.end, {event.end, 0, in ? event.bytes : 0, out ? event.bytes : 0});
  if (!filter_.shows(event.start, event.end)) return;
  Bucket& bucket = gpu.buckets[event.end.value / kBucket.value];
  bucket.htod_bytes += in ? event.bytes : 0;
  bucket.dtoh_bytes += out ? event.bytes : 0;
  constexpr std::pair<std::uint64_t, std::string_view> kTracks[] = {
      {kHostToDevice, "migration HtoD"}, {kDeviceToHost, "migration DtoH"}, {kDeviceToDevice, "migration DtoD"}};
  const auto& [thread, name] = kTracks[static_cast<std::size_t>(event.direction)];
  const Track track = named_track(process_of(event.device), thread, name);
  const std::string_view cause = name_of(event.cause);
  slice(track, cause, cause, event.start, event.end,
        fmt::format(R"("bytes":{},"address":"{:#x}")", event.bytes, event.address));
}

void Timeline::on(const StorageEvent& event) {
  if (!filter_.shows(event.start, event.end)) return;
  // Requests overlap in the device's queue; slices of one track must not, so each begins at the end of the previous
  // one.
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
  if (!filter_.shows(event.at, event.at)) return;
  ++gpus_[event.device].buckets[event.at.value / kBucket.value].evictions;
  instant(named_track(process_of(event.device), kEvictions, "evictions"), "eviction", "eviction", event.at,
          fmt::format(R"("copied_bytes":{},"address":"{:#x}")", event.copied_bytes, event.address));
}

void Timeline::on(const CpuFaultEvent& event) {
  if (!filter_.shows(event.start, event.end)) return;
  slice(named_track(host_process(), kCpuFaults, "CPU faults"), event.write ? "CPU write fault" : "CPU read fault",
        "cpu fault", event.start, event.end, fmt::format(R"("address":"{:#x}")", event.address));
}

void Timeline::on(const RemoteMapEvent& event) {
  if (!filter_.shows(event.at, event.at)) return;
  instant(named_track(process_of(event.device), kRemoteMaps, "remote maps"), "remote map", "remote map", event.at,
          fmt::format(R"("bytes":{},"address":"{:#x}")", event.bytes, event.address));
}

void Timeline::on(const ThrashingEvent& event) {
  if (!filter_.shows(event.at, event.at)) return;
  instant(named_track(host_process(), kThrashing, "thrashing"), "thrashing", "thrashing", event.at,
          fmt::format(R"("address":"{:#x}")", event.address));
}

void Timeline::on(const ResidencyEvent& event) {
  if (!filter_.shows(event.at, event.at)) return;
  const auto [sample, inserted] = residency_.try_emplace(event.device, event);
  if (inserted) return;
  // The last value of every interval is written, at the time when it was reached.
  if (event.at.value / kResidencyInterval.value != sample->second.at.value / kResidencyInterval.value) {
    write_residency(sample->second);
  }
  sample->second = event;
}

void Timeline::on(const RangeEvent& event) {
  if (!filter_.shows(event.start, event.end)) return;
  slice(named_track(host_process(), kRanges, "ranges"), event.name, "range", event.start, event.end, "");
}

void Timeline::on(const TurnEvent& event) {
  if (!program_) return;
  if (!filter_.shows(event.change, event.end)) return;
  const Track track = named_track(process_of(event.device), kTurns, "turns");
  if (event.start > event.change) slice(track, "change", "turn", event.change, event.start, "");
  slice(track, program_names_[*program_], "turn", event.start, event.end, "");
}

void Timeline::finish(const RunRecord* record) {
  for (const auto& [device, event] : residency_) write_residency(event);
  for (const auto& [device, gpu] : gpus_) write_buckets(device, gpu);
  std::string made_by =
      fmt::format(R"("uvmsim_version":{},"uvmsim_commit":{})", json_text(version()), json_text(commit()));
  if (record != nullptr) {
    made_by +=
        fmt::format(R"(,"model_version":{},"command":{},"trace":{},"trace_sha256":{},"system":{},"system_sha256":{})",
                    json_text(record->provenance.model_version), json_text(record->provenance.command),
                    json_text(record->trace.name), json_text(record->trace.sha256),
                    json_text(record->options.system.name), json_text(record->provenance.system_sha256));
  }
  file_.write(fmt::format("\n],\n\"displayTimeUnit\":\"ns\",\"otherData\":{{{}}}}}\n", made_by));
  file_.commit();
}

// A value holds until the next one, so the last value is followed by zero.
void Timeline::write_buckets(std::int32_t device, const OfGpu& gpu) {
  const std::uint64_t process = process_of(device);
  const auto write = [&](std::int64_t number, const Bucket& bucket) {
    const Nanoseconds at(number * kBucket.value);
    // Bytes per millisecond over a million are GB/s.
    write_counter(process, "links (GB/s)", at,
                  fmt::format(R"("HtoD":{},"DtoH":{})", format_millionths(bucket.htod_bytes),
                              format_millionths(bucket.dtoh_bytes)));
    write_counter(process, "raw faults per ms", at, fmt::format(R"("faults":{})", bucket.raw_faults));
    write_counter(process, "evictions per ms", at, fmt::format(R"("chunks":{})", bucket.evictions));
  };
  for (auto bucket = gpu.buckets.begin(); bucket != gpu.buckets.end(); ++bucket) {
    write(bucket->first, bucket->second);
    const auto next = std::next(bucket);
    if (next == gpu.buckets.end() || next->first != bucket->first + 1) write(bucket->first + 1, {});
  }
}

void Timeline::write_counter(std::uint64_t process, std::string_view name, Nanoseconds at, std::string_view values) {
  name_process(process);
  write_event(
      fmt::format(R"({{"ph":"C","pid":{},"ts":{},"name":"{}","args":{{{}}}}})", process, format_us(at), name, values));
}

void Timeline::name_process(std::uint64_t process) {
  if (!named_processes_.insert(process).second) return;
  std::string name = "host";
  if (process >= kFirstProgramProcess) {
    name += ": " + program_names_[static_cast<std::size_t>(process - kFirstProgramProcess)];
  } else if (process != kHostProcess) {
    name = fmt::format("GPU {}", process - kFirstGpuProcess);
  }
  write_names("process", fmt::format(R"("pid":{})", process), name, process);
}

// Writes the name of a process or of one of its tracks, and its place in the order.
void Timeline::write_names(std::string_view kind, const std::string& which, std::string_view name,
                           std::uint64_t place) {
  write_event(fmt::format(R"({{"ph":"M",{},"name":"{}_name","args":{{"name":{}}}}})", which, kind, json_text(name)));
  write_event(fmt::format(R"({{"ph":"M",{},"name":"{}_sort_index","args":{{"sort_index":{}}}}})", which, kind, place));
}

Timeline::Track Timeline::named_track(std::uint64_t process, std::uint64_t thread, std::string_view name) {
  const Track track{process, thread};
  if (!named_threads_.insert({process, thread}).second) return track;
  name_process(process);
  write_names("thread", fmt::format(R"("pid":{},"tid":{})", process, thread), name, thread);
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
  write_counter(process, "residency", event.at,
                fmt::format(R"("resident_bytes":{},"chunk_bytes":{})", event.resident_bytes, event.chunk_bytes));
}

void Timeline::write_event(std::string_view text) {
  if (!first_) file_.write(",\n");
  first_ = false;
  file_.write(text);
}

}  // namespace uvmsim::report
