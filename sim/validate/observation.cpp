// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/observation.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "sim/common/units.h"
#include "sim/engine/simulation.h"
#include "sim/layout/layout.h"
#include "sim/memory/address_space.h"
#include "sim/validate/pair.h"

namespace uvmsim::validate {

namespace {

const char* const kLayout = "recorded";

// As CUPTI numbers them; what it does not know is a fault.
TransferCause cause_of(std::uint32_t flags) {
  const auto last = static_cast<std::uint32_t>(TransferCause::kAccessCounter);
  return flags == 0 || flags > last ? TransferCause::kFault : static_cast<TransferCause>(flags);
}

TransferDirection direction_of(EventKind transfer) {
  if (transfer == EventKind::kHostToDevice) return TransferDirection::kHostToDevice;
  return transfer == EventKind::kDeviceToHost ? TransferDirection::kDeviceToHost : TransferDirection::kDeviceToDevice;
}

// From the model's addresses, which its layout hands out, to offsets in the experiment's allocations. The same objects
// under the same layout get the same blocks here as in the engine.
class AddressMap {
 public:
  AddressMap(const Program& program, const config::SystemConfig& system)
      : space_(static_cast<unsigned>(system.gpus.size())), layout_(kLayout, space_) {
    for (const trace::Record& record : program.records) {
      const auto* object = std::get_if<trace::ObjectAlloc>(&record);
      if (object == nullptr) continue;
      const layout::Placement& placement = layout_.allocate(*object).placement;
      for (std::size_t i = 0; i < placement.blocks.size(); ++i) {
        const auto begin = static_cast<std::int64_t>(i * kBlockBytes) - static_cast<std::int64_t>(placement.offset);
        pieces_.push_back({placement.blocks[i].value, begin, object_count_});
      }
      ++object_count_;
    }
  }

  // The allocation at an address and the offset from its start; in a block that several share the last one that begins
  // at or before the address, in growth beyond its ends whichever is first there.
  std::pair<std::size_t, std::int64_t> locate(std::uint64_t address) const {
    const std::uint64_t block = address / kBlockBytes;
    const auto in_block = static_cast<std::int64_t>(address % kBlockBytes);
    std::pair<std::size_t, std::int64_t> best{kNoAllocation, 0};
    for (const Piece& piece : pieces_) {
      if (piece.block != block) continue;
      const std::int64_t offset = piece.offset_of_block + in_block;
      const bool better = best.second < 0 ? offset > best.second : offset >= 0 && offset < best.second;
      if (best.first == kNoAllocation || better) best = {piece.allocation, offset};
    }
    return best;
  }

 private:
  static constexpr std::size_t kNoAllocation = SIZE_MAX;
  struct Piece {
    std::uint64_t block;
    std::int64_t offset_of_block;  // of the block's first byte, from the start of the allocation
    std::size_t allocation;
  };

  AddressSpace space_;
  layout::Layout layout_;
  std::vector<Piece> pieces_;
  std::size_t object_count_ = 0;
};

// Keeps everything; what happened before the measurement is dropped at the end, when its begin is known.
class Recorder : public EventSink {
 public:
  Recorder(const AddressMap& addresses, bool page_order) : addresses_(addresses), page_order_(page_order) {}

  void on(const KernelEvent& event) override { kernels_.emplace_back(event.start, event.end); }
  void on(const FaultBatchEvent& event) override {
    const auto [allocation, offset] = addresses_.locate(event.lowest_address);
    batches_.push_back({event.start.value, event.end.value, offset, allocation});
    Contents contents{event.start, event.last_arrival, event.raw_faults, event.pages, event.sms, {}};
    if (page_order_) {
      for (const FetchedFault& fault : event.faults) contents.pages.push_back(fault.address);
    }
    contents_.push_back(std::move(contents));
  }
  void on(const TransferEvent& event) override {
    const auto [allocation, offset] = addresses_.locate(event.address);
    transfers_.push_back(
        {event.direction, event.cause, event.start.value, event.end.value, allocation, offset, event.bytes});
  }
  void on(const CpuFaultEvent& event) override { cpu_faults_.push_back(event.start); }
  void on(const RemoteMapEvent& event) override {
    remote_maps_.emplace_back(event.at, addresses_.locate(event.address).second);
  }
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
    seen.raw = contents_from(begin);
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
  struct Contents {
    Nanoseconds first, last;  // arrivals
    std::uint64_t raw_faults, distinct_pages, sms;
    std::vector<std::uint64_t> pages;  // their addresses, in the order of arrival; empty: not wanted
  };

  RawContents contents_from(Nanoseconds begin) const {
    RawContents out;
    std::vector<std::uint64_t> raw_faults, pages, sms, raising_ns;
    std::unordered_set<std::uint64_t> raised;  // addresses of pages
    for (const Contents& batch : contents_) {
      if (batch.first < begin) continue;
      out.raw_faults += batch.raw_faults;
      raw_faults.push_back(batch.raw_faults);
      pages.push_back(batch.distinct_pages);
      sms.push_back(batch.sms);
      raising_ns.push_back(static_cast<std::uint64_t>(std::max(batch.last - batch.first, Nanoseconds{}).value));
      if (page_order_) out.page_order.push_back(first_pages(batch, raised));
    }
    if (!raising_ns.empty()) out.raising_ns_per_batch = median(std::move(raising_ns));
    out.raw_faults_per_batch = median(std::move(raw_faults));
    out.pages_per_batch = median(std::move(pages));
    out.sms_per_batch = median(std::move(sms));
    return out;
  }

  // Returns the pages of the first allocation that were not raised before, from its start, and adds them to `raised`.
  std::vector<std::uint64_t> first_pages(const Contents& batch, std::unordered_set<std::uint64_t>& raised) const {
    std::vector<std::uint64_t> pages;
    for (const std::uint64_t address : batch.pages) {
      if (!raised.insert(address).second) continue;
      const auto [allocation, offset] = addresses_.locate(address);
      if (allocation == 0 && offset >= 0) pages.push_back(static_cast<std::uint64_t>(offset) / kBasePageBytes);
    }
    return pages;
  }

  const AddressMap& addresses_;
  bool page_order_;
  std::vector<std::pair<Nanoseconds, Nanoseconds>> kernels_;
  std::vector<ObservedBatch> batches_;
  std::vector<Contents> contents_;
  std::vector<ObservedTransfer> transfers_;
  std::vector<Nanoseconds> cpu_faults_;
  std::vector<std::pair<Nanoseconds, std::int64_t>> remote_maps_;
  std::vector<Nanoseconds> thrashing_;
};

}  // namespace

std::uint64_t Observation::bytes(TransferDirection direction, std::optional<TransferCause> cause) const {
  std::uint64_t sum = 0;
  for (const ObservedTransfer& transfer : transfers) {
    if (transfer.direction == direction && cause.value_or(transfer.cause) == transfer.cause) sum += transfer.bytes;
  }
  return sum;
}

std::uint64_t Observation::transactions(TransferDirection direction) const {
  return static_cast<std::uint64_t>(std::ranges::count(transfers, direction, &ObservedTransfer::direction));
}

std::int64_t Observation::first_batch_ns() const {
  return batches.empty() ? 0 : batches.front().end_ns - batches.front().start_ns;
}

Observation observe_measured(const Experiment& experiment) {
  Observation seen;
  seen.remote_bytes = experiment.remote_bytes.value_or(0);
  seen.raw = experiment.raw;
  for (const MeasuredEvent& event : experiment.events) {
    switch (event.kind) {
      case EventKind::kFaultBatch:
        seen.batches.push_back({event.start_ns, event.end_ns, event.offset, event.allocation});
        break;
      case EventKind::kHostToDevice:
      case EventKind::kDeviceToHost:
      case EventKind::kDeviceToDevice:
        seen.transfers.push_back({direction_of(event.kind), cause_of(event.flags), event.start_ns, event.end_ns,
                                  event.allocation, event.offset, event.value});
        break;
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

Observation observe_simulated(const Program& program, const config::SystemConfig& system, bool page_order) {
  const AddressMap addresses(program, system);
  Recorder recorder(addresses, page_order);
  RunOptions options;
  options.system = system;
  options.layout = kLayout;
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
  if (result.iterations.empty()) return recorder.from({});
  const auto& measured = result.iterations.front();
  Observation seen = recorder.from(measured.begin);
  seen.elapsed_ns = (measured.end - measured.begin).value;
  seen.remote_bytes = result.counters.remote_access_bytes;
  return seen;
}

}  // namespace uvmsim::validate
