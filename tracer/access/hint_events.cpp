// SPDX-License-Identifier: Apache-2.0
// Prefetches, advice and discards of managed memory, single and in batches.
#include "tracer/access/call_events.h"
#include "tracer/access/driver_params.h"

namespace uvmtrace::access {

namespace {

// CU_MEM_LOCATION_TYPE_DEVICE is 1; the host, in all its forms, is -1.
int destination(const MemoryLocation& location) { return location.type == 1 ? location.id : -1; }
int destination(CUdevice device) { return device < 0 ? -1 : device; }

void prefetched(std::uint64_t va, std::uint64_t bytes, int to, CUstream stream) {
  JsonLine line = start_event("prefetch");
  line.number("va", va).number("bytes", bytes).number("to", to).number("stream", stream_number(stream));
  finish_event(std::move(line));
}

// `to`: the destination of a prefetch of the range; null: there is none.
void discarded(std::uint64_t va, std::uint64_t bytes, CUstream stream, const int* to) {
  JsonLine line = start_event("discard");
  line.number("va", va)
      .number("bytes", bytes)
      .number("stream", stream_number(stream))
      .boolean("prefetch", to != nullptr);
  if (to != nullptr) line.number("to", *to);
  finish_event(std::move(line));
}

void advised(std::uint64_t va, std::uint64_t bytes, int advice, int to) {
  static constexpr const char* kNames[] = {"",
                                           "set_read_mostly",
                                           "unset_read_mostly",
                                           "set_preferred_location",
                                           "unset_preferred_location",
                                           "set_accessed_by",
                                           "unset_accessed_by"};
  if (advice < 1 || advice > 6) return;
  JsonLine line = start_event("advise");
  line.number("va", va).number("bytes", bytes).text("advice", kNames[advice]).number("to", to);
  finish_event(std::move(line));
}

}  // namespace

bool on_hint(Call call, const void* parameters) {
  switch (call) {
    case Call::kPrefetch: {
      const auto& p = *static_cast<const params::Prefetch*>(parameters);
      prefetched(p.pointer, p.bytes, destination(p.device), p.stream);
      return true;
    }
    case Call::kPrefetch2: {
      const auto& p = *static_cast<const params::Prefetch2*>(parameters);
      prefetched(p.pointer, p.bytes, destination(p.location), p.stream);
      return true;
    }
    case Call::kPrefetchBatch:
    case Call::kDiscardPrefetchBatch: {
      const auto& p = *static_cast<const params::PrefetchBatch*>(parameters);
      std::size_t place = 0;
      for (std::size_t i = 0; i < p.count; ++i) {
        while (place + 1 < p.location_count && p.indices[place + 1] <= i) ++place;
        const int to = p.location_count != 0 ? destination(p.locations[place]) : -1;
        if (call == Call::kDiscardPrefetchBatch) {
          discarded(p.pointers[i], p.bytes[i], p.stream, &to);
        } else {
          prefetched(p.pointers[i], p.bytes[i], to, p.stream);
        }
      }
      return true;
    }
    case Call::kDiscardBatch: {
      const auto& p = *static_cast<const params::DiscardBatch*>(parameters);
      for (std::size_t i = 0; i < p.count; ++i) discarded(p.pointers[i], p.bytes[i], p.stream, nullptr);
      return true;
    }
    case Call::kAdvise: {
      const auto& p = *static_cast<const params::Advise*>(parameters);
      advised(p.pointer, p.bytes, p.advice, destination(p.device));
      return true;
    }
    case Call::kAdvise2: {
      const auto& p = *static_cast<const params::Advise2*>(parameters);
      advised(p.pointer, p.bytes, p.advice, destination(p.location));
      return true;
    }
    default:
      return false;
  }
}

}  // namespace uvmtrace::access
