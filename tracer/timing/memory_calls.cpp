// SPDX-License-Identifier: Apache-2.0
// Allocations and frees of every kind.
#include <memory>

#include "tracer/log/streams.h"
#include "tracer/timing/calls.h"
#include "tracer/timing/capture.h"
#include "tracer/timing/live_allocations.h"
#include "tracer/timing/memory_events.h"

namespace uvmtrace {

void write_alloc(const Call& call, const Allocation& allocation, CUstream stream, bool first) {
  JsonLine line = call_event("alloc", call, first);
  line.number("va", allocation.va).number("bytes", allocation.bytes).text("kind", name(allocation.kind));
  if (allocation.kind == MemoryKind::kPool) {
    line.number("stream", StreamNumbers::instance().number(reinterpret_cast<std::uint64_t>(stream)));
  }
  finish_event(std::move(line), call);
}

void write_free(const Call& call, const Allocation& allocation, CUstream stream, bool first) {
  JsonLine line = call_event("free", call, first);
  line.number("va", allocation.va).text("kind", name(allocation.kind));
  if (allocation.kind == MemoryKind::kPool) {
    line.number("stream", StreamNumbers::instance().number(reinterpret_cast<std::uint64_t>(stream)));
  }
  finish_event(std::move(line), call);
}

namespace {

void allocated(const Call& call, std::uint64_t va, std::uint64_t bytes, MemoryKind kind, CUstream stream = nullptr) {
  const Allocation allocation{va, bytes, kind};
  const bool fresh = LiveAllocations::instance().insert(allocation);
  // A new name of an old call may report the same allocation twice.
  if (kind == MemoryKind::kPinned && !fresh) return;
  if (kind == MemoryKind::kPool && was_captured(call, stream)) return;
  write_alloc(call, allocation, stream, true);
}

// Removes an address from the map when its free begins, before another thread can get the same address; it is put back
// if the free fails.
std::uint64_t take(std::uint64_t va) {
  if (va == 0) return 0;
  const std::optional<Allocation> found = LiveAllocations::instance().remove(va);
  if (!found) return 0;
  return reinterpret_cast<std::uint64_t>(new Allocation(*found));
}
std::unique_ptr<Allocation> taken(const Call& call) {
  return std::unique_ptr<Allocation>(reinterpret_cast<Allocation*>(call.state));
}
void put_back(const Call& call) {
  if (const auto allocation = taken(call)) LiveAllocations::instance().insert(*allocation);
}
void freed(const Call& call) {
  if (const auto allocation = taken(call)) write_free(call, *allocation, nullptr, true);
}

template <typename Parameters>
CallHandler host_allocation() {
  return {.on_success =
              [](const Call& call) {
                const auto& p = call.as<Parameters>();
                allocated(call, reinterpret_cast<std::uint64_t>(*p.pp), p.bytesize, MemoryKind::kPinned);
              },
          .sequence_at_return = true};
}

void add_device_calls(CallTable& table) {
  table.add(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, {.on_success =
                                                        [](const Call& call) {
                                                          const auto& p = call.as<cuMemAlloc_v2_params>();
                                                          allocated(call, *p.dptr, p.bytesize, MemoryKind::kDevice);
                                                        },
                                                    .sequence_at_return = true});
  table.add(CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2, {.on_success =
                                                             [](const Call& call) {
                                                               const auto& p = call.as<cuMemAllocPitch_v2_params>();
                                                               allocated(call, *p.dptr, *p.pPitch * p.Height,
                                                                         MemoryKind::kDevice);
                                                             },
                                                         .sequence_at_return = true});
  table.add(CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged, {.on_success =
                                                            [](const Call& call) {
                                                              const auto& p = call.as<cuMemAllocManaged_params>();
                                                              allocated(call, *p.dptr, p.bytesize,
                                                                        MemoryKind::kManaged);
                                                            },
                                                        .sequence_at_return = true});
  table.add(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2,
            {.on_success = freed,
             .on_enter = [](const Call& call) { return take(call.as<cuMemFree_v2_params>().dptr); },
             .on_failure = put_back});
}

void add_host_calls(CallTable& table) {
  // CUPTI has this one call under an old and a new number.
  table.add(CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc, host_allocation<cuMemHostAlloc_params>());
  table.add(CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc_v2, host_allocation<cuMemHostAlloc_params>());
  table.add(CUPTI_DRIVER_TRACE_CBID_cuMemAllocHost_v2, host_allocation<cuMemAllocHost_v2_params>());
  const CallHandler registered{.on_success =
                                   [](const Call& call) {
                                     const auto& p = call.as<cuMemHostRegister_v2_params>();
                                     allocated(call, reinterpret_cast<std::uint64_t>(p.p), p.bytesize,
                                               MemoryKind::kPinned);
                                   },
                               .sequence_at_return = true};
  table.add(CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister, registered);
  table.add(CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2, registered);
  const auto free_of_host = [](const Call& call) {
    return take(reinterpret_cast<std::uint64_t>(call.as<cuMemFreeHost_params>().p));
  };
  static_assert(sizeof(cuMemFreeHost_params) == sizeof(cuMemHostUnregister_params));
  const CallHandler freed_host{.on_success = freed, .on_enter = free_of_host, .on_failure = put_back};
  table.add(CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost, freed_host);
  table.add(CUPTI_DRIVER_TRACE_CBID_cuMemHostUnregister, freed_host);
}

void add_pool_calls(CallTable& table) {
  UVMTRACE_ADD_PAIR(table, cuMemAllocAsync, cuMemAllocAsync_ptsz,
                    {.on_success =
                         [](const Call& call) {
                           const auto& p = call.as<cuMemAllocAsync_params>();
                           allocated(call, *p.dptr, p.bytesize, MemoryKind::kPool, p.hStream);
                         },
                     .sequence_at_return = true});
  UVMTRACE_ADD_PAIR(table, cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz,
                    {.on_success =
                         [](const Call& call) {
                           const auto& p = call.as<cuMemAllocFromPoolAsync_params>();
                           allocated(call, *p.dptr, p.bytesize, MemoryKind::kPool, p.hStream);
                         },
                     .sequence_at_return = true});
  UVMTRACE_ADD_PAIR(table, cuMemFreeAsync, cuMemFreeAsync_ptsz,
                    {.on_success =
                         [](const Call& call) {
                           const CUstream stream = call.as<cuMemFreeAsync_params>().hStream;
                           if (was_captured(call, stream)) {
                             put_back(call);  // freed when the graph runs
                           } else if (const auto allocation = taken(call)) {
                             write_free(call, *allocation, stream, true);
                           }
                         },
                     .on_enter = [](const Call& call) { return take(call.as<cuMemFreeAsync_params>().dptr); },
                     .on_failure = put_back});
}

void add_mapping_calls(CallTable& table) {
  table.add(CUPTI_DRIVER_TRACE_CBID_cuMemMap, {.on_success =
                                                   [](const Call& call) {
                                                     const auto& p = call.as<cuMemMap_params>();
                                                     allocated(call, p.ptr, p.size, MemoryKind::kVmm);
                                                   },
                                               .sequence_at_return = true});
  // One call may unmap several mappings.
  using Mappings = std::vector<Allocation>;
  table.add(CUPTI_DRIVER_TRACE_CBID_cuMemUnmap,
            {.on_success =
                 [](const Call& call) {
                   const std::unique_ptr<Mappings> mappings(reinterpret_cast<Mappings*>(call.state));
                   if (mappings == nullptr) return;
                   bool first = true;
                   for (const Allocation& mapping : *mappings) {
                     write_free(call, mapping, nullptr, first);
                     first = false;
                   }
                 },
             .on_enter =
                 [](const Call& call) {
                   const auto& p = call.as<cuMemUnmap_params>();
                   return reinterpret_cast<std::uint64_t>(
                       new Mappings(LiveAllocations::instance().remove_range(p.ptr, p.size)));
                 },
             .on_failure =
                 [](const Call& call) {
                   const std::unique_ptr<Mappings> mappings(reinterpret_cast<Mappings*>(call.state));
                   if (mappings == nullptr) return;
                   for (const Allocation& mapping : *mappings) LiveAllocations::instance().insert(mapping);
                 }});
}

}  // namespace

void add_memory_calls(CallTable& table) {
  add_device_calls(table);
  add_host_calls(table);
  add_pool_calls(table);
  add_mapping_calls(table);
}

}  // namespace uvmtrace
