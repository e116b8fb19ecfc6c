// SPDX-License-Identifier: Apache-2.0
// Allocations and frees of every kind.
#include "tracer/access/call_events.h"
#include "tracer/access/driver_params.h"

namespace uvmtrace::access {

void write_allocation(Allocations& allocations, const Allocation& allocation, const CUstream* stream) {
  if (allocation.va == 0) return;
  // CUPTI reports some calls under an old and a new number, possibly both.
  const std::optional<Allocation> there = allocations.find(allocation.va);
  const bool pinned = std::string_view(allocation.kind) == "pinned";
  if (pinned && there && there->va == allocation.va && there->bytes == allocation.bytes) return;
  for (const Allocation& gone : allocations.add(allocation)) {
    // This memory belongs to a module that was unloaded without a report. For the program's own memory the only
    // possible reason is a missed free.
    JsonLine line = start_event("free");
    line.number("va", gone.va).text("kind", gone.kind);
    finish_event(std::move(line));
  }
  JsonLine line = start_event("alloc");
  line.number("va", allocation.va).number("bytes", allocation.bytes).text("kind", allocation.kind);
  if (stream != nullptr) line.number("stream", stream_number(*stream));
  finish_event(std::move(line));
}

void write_free(Allocations& allocations, std::uint64_t va, const CUstream* stream) {
  if (va == 0) return;
  const std::optional<Allocation> gone = allocations.remove(va);
  if (!gone) return;
  JsonLine line = start_event("free");
  line.number("va", va).text("kind", gone->kind);
  if (stream != nullptr) line.number("stream", stream_number(*stream));
  finish_event(std::move(line));
}

void on_allocated(Call call, const void* parameters, Allocations& allocations) {
  switch (call) {
    case Call::kAlloc:
    case Call::kAllocManaged: {
      const auto& p = *static_cast<const params::Alloc*>(parameters);
      write_allocation(allocations, {*p.pointer, p.bytes, call == Call::kAlloc ? "device" : "managed"});
      return;
    }
    case Call::kAllocPitch: {
      const auto& p = *static_cast<const params::AllocPitch*>(parameters);
      write_allocation(allocations, {*p.pointer, *p.pitch * p.height, "device"});
      return;
    }
    case Call::kAllocAsync: {
      const auto& p = *static_cast<const params::AllocAsync*>(parameters);
      write_allocation(allocations, {*p.pointer, p.bytes, "pool"}, &p.stream);
      return;
    }
    case Call::kAllocFromPool: {
      const auto& p = *static_cast<const params::AllocFromPool*>(parameters);
      write_allocation(allocations, {*p.pointer, p.bytes, "pool"}, &p.stream);
      return;
    }
    case Call::kAllocHost: {
      const auto& p = *static_cast<const params::AllocHost*>(parameters);
      write_allocation(allocations, {number_of(*p.pointer), p.bytes, "pinned"});
      return;
    }
    case Call::kHostRegister: {
      const auto& p = *static_cast<const params::HostRegister*>(parameters);
      write_allocation(allocations, {number_of(p.pointer), p.bytes, "pinned"});
      return;
    }
    case Call::kMap: {
      const auto& p = *static_cast<const params::Map*>(parameters);
      write_allocation(allocations, {p.pointer, p.bytes, "vmm"});
      return;
    }
    default:
      return;
  }
}

void on_module_global(const void* parameters, Allocations& allocations) {
  const auto& p = *static_cast<const params::ModuleGlobal*>(parameters);
  if (p.pointer == nullptr || p.bytes == nullptr || allocations.find(*p.pointer)) return;
  write_allocation(allocations, {*p.pointer, *p.bytes, "module"});
}

bool on_free(Call call, const void* parameters, Allocations& allocations) {
  switch (call) {
    case Call::kFree:
      write_free(allocations, static_cast<const params::Free*>(parameters)->pointer);
      return true;
    case Call::kFreeAsync: {
      const auto& p = *static_cast<const params::FreeAsync*>(parameters);
      write_free(allocations, p.pointer, &p.stream);
      return true;
    }
    case Call::kFreeHost:
      write_free(allocations, number_of(static_cast<const params::FreeHost*>(parameters)->pointer));
      return true;
    case Call::kUnmap: {
      // One call may unmap several adjacent mappings.
      const auto& p = *static_cast<const params::Unmap*>(parameters);
      const std::uint64_t end = p.pointer + p.bytes;
      for (std::uint64_t va = p.pointer; va < end;) {
        const std::optional<Allocation> mapping = allocations.find(va);
        write_free(allocations, va);
        if (!mapping || mapping->va != va) break;
        va += mapping->bytes;
      }
      return true;
    }
    default:
      return false;
  }
}

}  // namespace uvmtrace::access
