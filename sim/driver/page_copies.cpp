// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/page_copies.h"

#include <algorithm>

#include "sim/driver/routing.h"

namespace uvmsim::driver {

namespace {

// The counters of one direction.
struct Sums {
  std::uint64_t Counters::*busy_ns;
  struct Cause {
    std::uint64_t Counters::*bytes;
    std::uint64_t Counters::*transactions;
  } by_cause[kTransferCauses];

  const Cause& of(TransferCause cause) const { return by_cause[index_of(cause)]; }
};

#define UVMSIM_SUMS(name) \
  { &Counters::name##_bytes, &Counters::name##_transactions }
constexpr Sums kToDevice{&Counters::htod_busy_ns,
                         {UVMSIM_SUMS(htod_user), UVMSIM_SUMS(htod_fault), UVMSIM_SUMS(htod_prefetch),
                          UVMSIM_SUMS(htod_fault), UVMSIM_SUMS(htod_counter)}};
constexpr Sums kToHost{&Counters::dtoh_busy_ns,
                       {UVMSIM_SUMS(dtoh_user), UVMSIM_SUMS(dtoh_fault), UVMSIM_SUMS(dtoh_prefetch),
                        UVMSIM_SUMS(dtoh_evict), UVMSIM_SUMS(dtoh_fault)}};
constexpr Sums kBetweenDevices{&Counters::dtod_busy_ns,
                               {UVMSIM_SUMS(dtod_user), UVMSIM_SUMS(dtod_fault), UVMSIM_SUMS(dtod_prefetch),
                                UVMSIM_SUMS(dtod_evict), UVMSIM_SUMS(dtod_fault)}};
#undef UVMSIM_SUMS
constexpr bool has_every_cause(const Sums& sums) { return sums.by_cause[kTransferCauses - 1].bytes != nullptr; }
static_assert(has_every_cause(kToDevice) && has_every_cause(kToHost) && has_every_cause(kBetweenDevices));

const Sums& sums_of(TransferDirection direction) {
  return direction == TransferDirection::kHostToDevice   ? kToDevice
         : direction == TransferDirection::kDeviceToHost ? kToHost
                                                         : kBetweenDevices;
}

}  // namespace

Nanoseconds PageCopies::carry(Work& work, BlockIndex b, const Path& path, const policy::Route& way, Nanoseconds start,
                              const Load& load) {
  Nanoseconds read{};
  for_each_stripe(way, load.pages(), [&](const policy::Route& stripe, const PageMask& pages) {
    const bool detour = is_detour(stripe);
    const ProcessorId hop = detour ? gpu_processor(stripe.gpu) : path.to;
    const Load part = load.part(pages);
    const Nanoseconds end = push(work, b, {path.from, hop}, start, part);
    read = std::max(read, end);
    if (detour) push(work, b, {hop, path.to}, end, part);
  });
  return read;
}

Nanoseconds PageCopies::push(Work& work, BlockIndex b, const Path& path, Nanoseconds start, const Load& load) {
  const TransferDirection direction = path.from.is_host() ? TransferDirection::kHostToDevice
                                      : path.to.is_host() ? TransferDirection::kDeviceToHost
                                                          : TransferDirection::kDeviceToDevice;
  runs_.clear();
  load.pages().for_each_run([&](unsigned first, unsigned count) {
    for (unsigned page = first, end = first + count; page < end;) {
      const bool demanded = load.demanded.test(page);
      const unsigned stop = std::min(end, demanded ? load.demanded.next_clear(page) : load.prefetched.next_clear(page));
      TransferEvent run{};
      run.device = static_cast<std::int32_t>((path.to.is_gpu() ? path.to : path.from).gpu());
      run.source = path.from.is_gpu() ? static_cast<std::int32_t>(path.from.gpu()) : -1;
      run.direction = direction;
      run.cause = demanded ? load.cause : TransferCause::kPrefetch;
      run.address = virtual_address(b, page);
      run.bytes = (stop - page) * kBasePageBytes;
      runs_.push_back(run);
      page = stop;
    }
  });
  if (runs_.empty()) return start;
  link::CopyEngine& engine = context_.topology.engine(path.from, path.to);
  const config::DriverCosts& costs = context_.costs();
  work.spend(costs.push_ns + costs.push_run_ns * runs_.size());
  const auto ns = [](std::uint64_t n) { return Nanoseconds(static_cast<std::int64_t>(n)); };
  const Nanoseconds free_at = engine.pushes() == 0 ? Nanoseconds{} : engine.busy_until() + ns(costs.push_gap_ns);
  engine.begin_push(std::max({start, work.cpu + ns(costs.push_to_engine_ns), free_at}));
  // Without 2 MB host chunks the driver issues one DMA method per page (<= 525).
  const bool pieces = direction != TransferDirection::kDeviceToDevice && !context_.system.host.large_pages;
  // The engine stamps each copy if an event listener requests the copy's times (uvm_tools.c).
  const config::ListenerCosts& listener = context_.system.listener;
  const bool to_or_from_host = direction != TransferDirection::kDeviceToDevice;
  const Nanoseconds stamp = to_or_from_host ? ns(listener.of(listener.copy_ns)) : Nanoseconds{};
  const Sums& sums = sums_of(direction);
  Counters& counters = context_.counters;
  for (TransferEvent& run : runs_) {
    const std::uint64_t step = pieces ? kBasePageBytes : run.bytes;
    for (std::uint64_t done = 0; done < run.bytes; done += step) {
      const link::RunTimes times = engine.run(step, done == 0 ? stamp : Nanoseconds{});
      if (done == 0) run.start = times.start;
      run.end = times.end;
      counters.*sums.busy_ns += static_cast<std::uint64_t>((times.end - times.start).value);
    }
    const Sums::Cause& counted = sums.of(run.cause);
    counters.*counted.bytes += run.bytes;
    ++(counters.*counted.transactions);
    if (context_.events != nullptr) context_.events->on(run);
  }
  work.await(runs_.back().end + ns(costs.copies_done_ns));
  return runs_.back().end;
}

}  // namespace uvmsim::driver
