// SPDX-License-Identifier: Apache-2.0
// Prefetches, advice and discards, single and in batches.
#include <string_view>

#include "tracer/log/streams.h"
#include "tracer/timing/calls.h"
#include "tracer/timing/capture.h"

namespace uvmtrace {

namespace {

constexpr int kHost = -1;

// Legacy calls also use -1 for the host (CU_DEVICE_CPU).
int location(CUdevice device) { return device < 0 ? kHost : device; }
[[maybe_unused]] int location(const CUmemLocation& place) {
  return place.type == CU_MEM_LOCATION_TYPE_DEVICE ? place.id : kHost;
}

std::uint32_t stream_number(CUstream stream) {
  return StreamNumbers::instance().number(reinterpret_cast<std::uint64_t>(stream));
}

void write_prefetch(const Call& call, CUdeviceptr va, std::size_t bytes, int to, CUstream stream, bool first) {
  JsonLine line = call_event("prefetch", call, first);
  line.number("va", va).number("bytes", bytes).number("to", to).number("stream", stream_number(stream));
  finish_event(std::move(line), call);
}

std::string_view advice_name(CUmem_advise advice) {
  switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
      return "set_read_mostly";
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
      return "unset_read_mostly";
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
      return "set_preferred_location";
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
      return "unset_preferred_location";
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
      return "set_accessed_by";
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
      return "unset_accessed_by";
    default:
      return {};
  }
}

void write_advice(const Call& call, CUdeviceptr va, std::size_t bytes, CUmem_advise advice, int to) {
  const std::string_view name = advice_name(advice);
  if (name.empty()) return;
  JsonLine line = call_event("advise", call);
  line.number("va", va).number("bytes", bytes).text("advice", name).number("to", to);
  finish_event(std::move(line), call);
}

#if CUDA_VERSION >= 13000
// Each location applies from its index up to the next one's.
int batch_location(const CUmemLocation* locations, const std::size_t* indices, std::size_t count, std::size_t range) {
  std::size_t chosen = 0;
  while (chosen + 1 < count && indices[chosen + 1] <= range) ++chosen;
  return count == 0 ? kHost : location(locations[chosen]);
}

template <typename Parameters>
void discarded(const Call& call) {
  const auto& p = call.as<Parameters>();
  if (was_captured(call, p.hStream)) return;
  for (std::size_t i = 0; i < p.count; ++i) {
    JsonLine line = call_event("discard", call, i == 0);
    line.number("va", p.dptrs[i]).number("bytes", p.sizes[i]).number("stream", stream_number(p.hStream));
    if constexpr (requires { p.prefetchLocs; }) {
      line.boolean("prefetch", true);
      line.number("to", batch_location(p.prefetchLocs, p.prefetchLocIdxs, p.numPrefetchLocs, i));
    } else {
      line.boolean("prefetch", false);
    }
    finish_event(std::move(line), call);
  }
}

void prefetched_batch(const Call& call) {
  const auto& p = call.as<cuMemPrefetchBatchAsync_params>();
  if (was_captured(call, p.hStream)) return;
  for (std::size_t i = 0; i < p.count; ++i) {
    const int to = batch_location(p.prefetchLocs, p.prefetchLocIdxs, p.numPrefetchLocs, i);
    write_prefetch(call, p.dptrs[i], p.sizes[i], to, p.hStream, i == 0);
  }
}

void add_batches(CallTable& table) {
  UVMTRACE_ADD_PAIR(table, cuMemPrefetchBatchAsync, cuMemPrefetchBatchAsync_ptsz, {.on_success = &prefetched_batch});
  UVMTRACE_ADD_PAIR(table, cuMemDiscardBatchAsync, cuMemDiscardBatchAsync_ptsz,
                    {.on_success = &discarded<cuMemDiscardBatchAsync_params>});
  UVMTRACE_ADD_PAIR(table, cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardAndPrefetchBatchAsync_ptsz,
                    {.on_success = &discarded<cuMemDiscardAndPrefetchBatchAsync_params>});
}
#else
void add_batches(CallTable&) {}
#endif

template <typename Parameters>
void prefetched(const Call& call) {
  const auto& p = call.as<Parameters>();
  if (was_captured(call, p.hStream)) return;
  if constexpr (requires { p.location; }) {
    write_prefetch(call, p.devPtr, p.count, location(p.location), p.hStream, true);
  } else {
    write_prefetch(call, p.devPtr, p.count, location(p.dstDevice), p.hStream, true);
  }
}

}  // namespace

void add_hint_calls(CallTable& table) {
  UVMTRACE_ADD_PAIR(table, cuMemPrefetchAsync, cuMemPrefetchAsync_ptsz,
                    {.on_success = &prefetched<cuMemPrefetchAsync_params>});
  table.add(CUPTI_DRIVER_TRACE_CBID_cuMemAdvise, {.on_success = [](const Call& call) {
              const auto& p = call.as<cuMemAdvise_params>();
              write_advice(call, p.devPtr, p.count, p.advice, location(p.device));
            }});
#if CUDA_VERSION >= 12020
  UVMTRACE_ADD_PAIR(table, cuMemPrefetchAsync_v2, cuMemPrefetchAsync_v2_ptsz,
                    {.on_success = &prefetched<cuMemPrefetchAsync_v2_params>});
  table.add(CUPTI_DRIVER_TRACE_CBID_cuMemAdvise_v2, {.on_success = [](const Call& call) {
              const auto& p = call.as<cuMemAdvise_v2_params>();
              write_advice(call, p.devPtr, p.count, p.advice, location(p.location));
            }});
#endif
  add_batches(table);
}

}  // namespace uvmtrace
