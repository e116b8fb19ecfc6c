#include "sim/validate/observation.h"

#include <algorithm>
#include <utility>

#include "sim/engine/simulation.h"

namespace uvmsim::validate {

namespace {

TransferCause cause_of(std::uint32_t flags) {
  switch (flags) {
    case 1:
      return TransferCause::kUser;
    case 3:
      return TransferCause::kPrefetch;
    case 4:
      return TransferCause::kEvict;
    case 5:
      return TransferCause::kAccessCounter;
    default:
      return TransferCause::kFault;
  }
}

// Keeps everything; what happened before the measurement is dropped at the end, when its begin is known.
class Recorder : public EventSink {
 public:
  explicit Recorder(const Program& program) : program_(program) {}

  void on(const KernelEvent& event) override { kernels_.emplace_back(event.start, event.end); }
  void on(const FaultBatchEvent& event) override {
    const auto [allocation, offset] = locate(event.lowest_address);
    batches_.push_back({event.start.value, event.end.value, offset, allocation});
  }
  void on(const TransferEvent& event) override {
    const auto [allocation, offset] = locate(event.address);
    transfers_.push_back(
        {event.direction, event.cause, event.start.value, event.end.value, allocation, offset, event.bytes});
  }
  void on(const CpuFaultEvent& event) override { cpu_faults_.push_back(event.start); }
  void on(const RemoteMapEvent& event) override { remote_maps_.emplace_back(event.at, locate(event.address).second); }
  void on(const ThrashingEvent& event) override { thrashing_.push_back(event.at); }

  Observation from(Nanoseconds begin) {
    Observation seen;
    for (const auto& [start, end] : kernels_) {
      if (start >= begin) seen.kernel_ns += (end - start).value;
    }
    const auto measured = [&](const auto& event) { return event.start_ns >= begin.value; };
    const auto by_start = [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; };
    std::copy_if(batches_.begin(), batches_.end(), std::back_inserter(seen.batches), measured);
    std::copy_if(transfers_.begin(), transfers_.end(), std::back_inserter(seen.transfers), measured);
    std::stable_sort(seen.batches.begin(), seen.batches.end(), by_start);
    std::stable_sort(seen.transfers.begin(), seen.transfers.end(), by_start);
    for (const auto& [at, offset] : remote_maps_) {
      if (at >= begin) seen.remote_maps.push_back(offset);
    }
    const auto late = [&](Nanoseconds at) { return at >= begin; };
    seen.cpu_faults = static_cast<std::uint64_t>(std::count_if(cpu_faults_.begin(), cpu_faults_.end(), late));
    seen.thrashing = static_cast<std::uint64_t>(std::count_if(thrashing_.begin(), thrashing_.end(), late));
    return seen;
  }

 private:
  // The allocation at or before an address, and the offset from its start; growth may reach beyond the ends.
  std::pair<std::size_t, std::int64_t> locate(std::uint64_t address) const {
    std::size_t best = 0;
    for (std::size_t i = 1; i < program_.addresses.size(); ++i) {
      const std::uint64_t base = program_.addresses[i];
      const bool best_is_after = program_.addresses[best] > address;
      if (base <= address && (best_is_after || base > program_.addresses[best])) best = i;
    }
    return {best, static_cast<std::int64_t>(address - program_.addresses[best])};
  }

  const Program& program_;
  std::vector<std::pair<Nanoseconds, Nanoseconds>> kernels_;
  std::vector<ObservedBatch> batches_;
  std::vector<ObservedTransfer> transfers_;
  std::vector<Nanoseconds> cpu_faults_;
  std::vector<std::pair<Nanoseconds, std::int64_t>> remote_maps_;
  std::vector<Nanoseconds> thrashing_;
};

}  // namespace

std::uint64_t Observation::bytes(TransferDirection direction) const {
  std::uint64_t sum = 0;
  for (const ObservedTransfer& transfer : transfers) {
    if (transfer.direction == direction) sum += transfer.bytes;
  }
  return sum;
}

std::uint64_t Observation::bytes(TransferDirection direction, TransferCause cause) const {
  std::uint64_t sum = 0;
  for (const ObservedTransfer& transfer : transfers) {
    if (transfer.direction == direction && transfer.cause == cause) sum += transfer.bytes;
  }
  return sum;
}

std::uint64_t Observation::transactions(TransferDirection direction) const {
  return static_cast<std::uint64_t>(std::count_if(
      transfers.begin(), transfers.end(), [=](const auto& transfer) { return transfer.direction == direction; }));
}

std::int64_t Observation::first_batch_ns() const {
  return batches.empty() ? 0 : batches.front().end_ns - batches.front().start_ns;
}

Observation observe_measured(const Experiment& experiment) {
  Observation seen;
  for (const MeasuredEvent& event : experiment.events) {
    switch (event.kind) {
      case EventKind::kFaultBatch:
        seen.batches.push_back({event.start_ns, event.end_ns, event.offset, event.allocation});
        break;
      case EventKind::kHostToDevice:
      case EventKind::kDeviceToHost: {
        const bool in = event.kind == EventKind::kHostToDevice;
        seen.transfers.push_back({in ? TransferDirection::kHostToDevice : TransferDirection::kDeviceToHost,
                                  cause_of(event.flags), event.start_ns, event.end_ns, event.allocation, event.offset,
                                  event.value});
        break;
      }
      case EventKind::kCpuFault:
        ++seen.cpu_faults;
        break;
      case EventKind::kRemoteMap:
        seen.remote_maps.push_back(event.offset);
        break;
      case EventKind::kThrashing:
        ++seen.thrashing;
        break;
    }
  }
  for (const MeasuredKernel& kernel : experiment.kernels) seen.kernel_ns += kernel.end_ns - kernel.start_ns;
  return seen;
}

Observation observe_simulated(const Program& program, const config::SystemConfig& system) {
  Recorder recorder(program);
  RunOptions options;
  options.system = system;
  options.layout = "recorded";
  options.limited = false;
  RunObserver observer;
  observer.events = &recorder;
  std::size_t next = 0;
  const RecordSource source = [&](trace::Record& record) {
    if (next == program.records.size()) return false;
    record = program.records[next++];
    return true;
  };
  const RunResult result = simulate(program.header, source, options, observer);
  return recorder.from(result.iterations.empty() ? Nanoseconds{} : result.iterations.front().begin);
}

}  // namespace uvmsim::validate
