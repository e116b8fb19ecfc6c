#include "tracer/access/driver_calls.h"

#include <atomic>
#include <string_view>
#include <utility>
#include <vector>

#include "tracer/access/driver_params.h"
#include "tracer/log/event_log.h"
#include "tracer/log/streams.h"

namespace uvmtrace::access {

namespace {

enum class Call : std::uint8_t {
  kAlloc,
  kAllocPitch,
  kAllocManaged,
  kAllocAsync,
  kAllocFromPool,
  kAllocHost,
  kHostRegister,
  kMap,
  kFree,
  kFreeAsync,
  kFreeHost,
  kUnmap,
  kCopyHtoD,
  kCopyDtoH,
  kCopyDtoD,
  kCopyAny,
  kCopyPeer,
  kCopy2D,
  kCopy3D,
  kCopyBatch,
  kCopyBatch2,
  kSet8,
  kSet16,
  kSet32,
  kSet2D8,
  kSet2D16,
  kSet2D32,
  kPrefetch,
  kPrefetch2,
  kPrefetchBatch,
  kDiscardBatch,
  kDiscardPrefetchBatch,
  kAdvise,
  kAdvise2,
  kLaunch,
  kLaunchEx,
  kGraphLaunch,
  kContextSync,
  kStreamSync,
  kEventSync,
  kEventRecord,
  kStreamWait,
  kProfilerStart,
  kProfilerStop,
};

struct Entry {
  std::uint16_t number;
  Call call;
  bool async = false;
};

// Plain calls and their twins for the per-thread default stream (_ptds, _ptsz).
constexpr Entry kCalls[] = {
    {243, Call::kAlloc},
    {244, Call::kAllocPitch},
    {371, Call::kAllocManaged},
    {598, Call::kAllocAsync},
    {599, Call::kAllocAsync},
    {611, Call::kAllocFromPool},
    {612, Call::kAllocFromPool},
    {39, Call::kAllocHost},
    {271, Call::kAllocHost},
    {37, Call::kAllocHost},
    {294, Call::kAllocHost},
    {301, Call::kHostRegister},
    {379, Call::kHostRegister},
    {551, Call::kMap},
    {245, Call::kFree},
    {600, Call::kFreeAsync},
    {601, Call::kFreeAsync},
    {38, Call::kFreeHost},
    {302, Call::kFreeHost},
    {552, Call::kUnmap},
    {276, Call::kCopyHtoD},
    {397, Call::kCopyHtoD},
    {277, Call::kCopyHtoD, true},
    {421, Call::kCopyHtoD, true},
    {278, Call::kCopyDtoH},
    {398, Call::kCopyDtoH},
    {279, Call::kCopyDtoH, true},
    {422, Call::kCopyDtoH, true},
    {280, Call::kCopyDtoD},
    {399, Call::kCopyDtoD},
    {281, Call::kCopyDtoD, true},
    {423, Call::kCopyDtoD, true},
    {305, Call::kCopyAny},
    {408, Call::kCopyAny},
    {306, Call::kCopyAny, true},
    {418, Call::kCopyAny, true},
    {318, Call::kCopyPeer},
    {409, Call::kCopyPeer},
    {319, Call::kCopyPeer, true},
    {426, Call::kCopyPeer, true},
    {287, Call::kCopy2D},
    {288, Call::kCopy2D},
    {405, Call::kCopy2D},
    {406, Call::kCopy2D},
    {289, Call::kCopy2D, true},
    {424, Call::kCopy2D, true},
    {290, Call::kCopy3D},
    {407, Call::kCopy3D},
    {291, Call::kCopy3D, true},
    {425, Call::kCopy3D, true},
    {776, Call::kCopyBatch, true},
    {777, Call::kCopyBatch, true},
    {796, Call::kCopyBatch2, true},
    {797, Call::kCopyBatch2, true},
    {249, Call::kSet8},
    {411, Call::kSet8},
    {216, Call::kSet8, true},
    {428, Call::kSet8, true},
    {250, Call::kSet16},
    {412, Call::kSet16},
    {218, Call::kSet16, true},
    {429, Call::kSet16, true},
    {251, Call::kSet32},
    {413, Call::kSet32},
    {220, Call::kSet32, true},
    {430, Call::kSet32, true},
    {252, Call::kSet2D8},
    {414, Call::kSet2D8},
    {222, Call::kSet2D8, true},
    {431, Call::kSet2D8, true},
    {253, Call::kSet2D16},
    {415, Call::kSet2D16},
    {224, Call::kSet2D16, true},
    {432, Call::kSet2D16, true},
    {254, Call::kSet2D32},
    {416, Call::kSet2D32},
    {226, Call::kSet2D32, true},
    {433, Call::kSet2D32, true},
    {467, Call::kPrefetch},
    {468, Call::kPrefetch},
    {716, Call::kPrefetch2},
    {717, Call::kPrefetch2},
    {784, Call::kPrefetchBatch},
    {785, Call::kPrefetchBatch},
    {789, Call::kDiscardBatch},
    {790, Call::kDiscardBatch},
    {791, Call::kDiscardPrefetchBatch},
    {792, Call::kDiscardPrefetchBatch},
    {457, Call::kAdvise},
    {715, Call::kAdvise2},
    {307, Call::kLaunch},
    {442, Call::kLaunch},
    {477, Call::kLaunch},
    {478, Call::kLaunch},
    {652, Call::kLaunchEx},
    {653, Call::kLaunchEx},
    {514, Call::kGraphLaunch},
    {515, Call::kGraphLaunch},
    {17, Call::kContextSync},
    {800, Call::kContextSync},
    {126, Call::kStreamSync},
    {440, Call::kStreamSync},
    {121, Call::kEventSync},
    {119, Call::kEventRecord},
    {441, Call::kEventRecord},
    {587, Call::kEventRecord},
    {588, Call::kEventRecord},
    {295, Call::kStreamWait},
    {436, Call::kStreamWait},
    {308, Call::kProfilerStart},
    {309, Call::kProfilerStop},
};

constexpr std::uint32_t kMostNumber = 1024;

const std::vector<const Entry*>& entries_by_number() {
  static const auto* const entries = [] {
    auto* const table = new std::vector<const Entry*>(kMostNumber, nullptr);
    for (const Entry& entry : kCalls) (*table)[entry.number] = &entry;
    return table;
  }();
  return *entries;
}

int& allocation_depth() {
  thread_local int depth = 0;
  return depth;
}

template <typename Pointer>
std::uint64_t number_of(Pointer pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

std::uint32_t stream_number(CUstream stream) { return StreamNumbers::instance().number(number_of(stream)); }
JsonLine start(std::string_view type) { return EventLog::instance().host_event(type); }
void finish(JsonLine&& line) { EventLog::instance().write(std::move(line)); }

// Allocations and frees.

void allocated(Allocations& allocations, std::uint64_t va, std::uint64_t bytes, const char* kind,
               const CUstream* stream = nullptr) {
  if (va == 0) return;
  allocations.add({va, bytes, kind});
  JsonLine line = start("alloc");
  line.number("va", va).number("bytes", bytes).text("kind", kind);
  if (stream != nullptr) line.number("stream", stream_number(*stream));
  finish(std::move(line));
}

void freed(Allocations& allocations, std::uint64_t va, const CUstream* stream = nullptr) {
  if (va == 0) return;
  const std::optional<Allocation> gone = allocations.remove(va);
  JsonLine line = start("free");
  line.number("va", va).text("kind", gone ? gone->kind : stream != nullptr ? "pool" : "device");
  if (stream != nullptr) line.number("stream", stream_number(*stream));
  finish(std::move(line));
}

bool allocates(Call call) { return call <= Call::kMap; }

void on_allocated(Call call, const void* parameters, Allocations& allocations) {
  switch (call) {
    case Call::kAlloc:
    case Call::kAllocManaged: {
      const auto& p = *static_cast<const params::Alloc*>(parameters);
      allocated(allocations, *p.pointer, p.bytes, call == Call::kAlloc ? "device" : "managed");
      return;
    }
    case Call::kAllocPitch: {
      const auto& p = *static_cast<const params::AllocPitch*>(parameters);
      allocated(allocations, *p.pointer, *p.pitch * p.height, "device");
      return;
    }
    case Call::kAllocAsync: {
      const auto& p = *static_cast<const params::AllocAsync*>(parameters);
      allocated(allocations, *p.pointer, p.bytes, "pool", &p.stream);
      return;
    }
    case Call::kAllocFromPool: {
      const auto& p = *static_cast<const params::AllocFromPool*>(parameters);
      allocated(allocations, *p.pointer, p.bytes, "pool", &p.stream);
      return;
    }
    case Call::kAllocHost: {
      const auto& p = *static_cast<const params::AllocHost*>(parameters);
      allocated(allocations, number_of(*p.pointer), p.bytes, "pinned");
      return;
    }
    case Call::kHostRegister: {
      const auto& p = *static_cast<const params::HostRegister*>(parameters);
      allocated(allocations, number_of(p.pointer), p.bytes, "pinned");
      return;
    }
    case Call::kMap: {
      const auto& p = *static_cast<const params::Map*>(parameters);
      allocated(allocations, p.pointer, p.bytes, "vmm");
      return;
    }
    default:
      return;
  }
}

bool on_free(Call call, const void* parameters, Allocations& allocations) {
  switch (call) {
    case Call::kFree:
      freed(allocations, static_cast<const params::Free*>(parameters)->pointer);
      return true;
    case Call::kFreeAsync: {
      const auto& p = *static_cast<const params::FreeAsync*>(parameters);
      freed(allocations, p.pointer, &p.stream);
      return true;
    }
    case Call::kFreeHost:
      freed(allocations, number_of(static_cast<const params::FreeHost*>(parameters)->pointer));
      return true;
    case Call::kUnmap: {
      // One call may unmap several mappings that lie next to each other.
      const auto& p = *static_cast<const params::Unmap*>(parameters);
      const std::uint64_t end = p.pointer + p.bytes;
      for (std::uint64_t va = p.pointer; va < end;) {
        const std::optional<Allocation> mapping = allocations.find(va);
        freed(allocations, va);
        if (!mapping || mapping->va != va) break;
        va += mapping->bytes;
      }
      return true;
    }
    default:
      return false;
  }
}

// Copies and sets.

const char* copy_kind(const Allocations& allocations, std::uint64_t dst, std::uint64_t src) {
  const auto on_device = [&](std::uint64_t address) {
    const std::optional<Allocation> found = allocations.find(address);
    return found && std::string_view(found->kind) != "pinned";
  };
  const bool to_device = on_device(dst);
  const bool from_device = on_device(src);
  if (to_device) return from_device ? "dtod" : "htod";
  return from_device ? "dtoh" : "htoh";
}

void copied(const Entry& entry, const char* kind, std::uint64_t dst, std::uint64_t src, std::uint64_t bytes,
            CUstream stream, std::uint64_t correlation) {
  JsonLine line = start("memcpy");
  line.number("corr", correlation).number("dst", dst).number("src", src).number("bytes", bytes).text("kind", kind);
  line.boolean("async", entry.async).number("stream", stream_number(entry.async ? stream : nullptr));
  finish(std::move(line));
}

// CUDA_MEMCPY2D and CUDA_MEMCPY3D name their fields alike.
template <typename Copy>
void copied_rows(const Entry& entry, const Copy& c, std::uint64_t dst, std::uint64_t src, std::uint64_t rows,
                 CUstream stream) {
  static constexpr const char* kKinds[2][2] = {{"htoh", "htod"}, {"dtoh", "dtod"}};
  const bool unified = c.srcMemoryType == CU_MEMORYTYPE_UNIFIED || c.dstMemoryType == CU_MEMORYTYPE_UNIFIED;
  const char* const kind =
      unified ? "unknown" : kKinds[c.srcMemoryType != CU_MEMORYTYPE_HOST][c.dstMemoryType != CU_MEMORYTYPE_HOST];
  JsonLine line = start("memcpy");
  line.number("corr", next_correlation()).number("dst", dst).number("src", src);
  line.number("bytes", c.WidthInBytes * rows).text("kind", kind);
  line.boolean("async", entry.async).number("stream", stream_number(entry.async ? stream : nullptr));
  line.number("rows", rows).number("row_bytes", c.WidthInBytes);
  line.number("dst_pitch", c.dstPitch).number("src_pitch", c.srcPitch);
  finish(std::move(line));
}

std::uint64_t plane_address(CUmemorytype type, const void* host, CUdeviceptr device, std::uint64_t offset) {
  if (type == CU_MEMORYTYPE_ARRAY) return 0;
  return (type == CU_MEMORYTYPE_HOST ? number_of(host) : device) + offset;
}

bool on_copy(const Entry& entry, const void* parameters, const Allocations& allocations) {
  switch (entry.call) {
    case Call::kCopyHtoD:
    case Call::kCopyDtoH:
    case Call::kCopyDtoD:
    case Call::kCopyAny: {
      // Synchronous calls have no stream: their struct ends before it, and copied() does not look at it.
      const auto& p = *static_cast<const params::Copy*>(parameters);
      const CUstream stream = entry.async ? p.stream : nullptr;
      const char* const kind = entry.call == Call::kCopyHtoD   ? "htod"
                               : entry.call == Call::kCopyDtoH ? "dtoh"
                               : entry.call == Call::kCopyDtoD ? "dtod"
                                                               : copy_kind(allocations, p.dst, p.src);
      copied(entry, kind, p.dst, p.src, p.bytes, stream, next_correlation());
      return true;
    }
    case Call::kCopyPeer: {
      const auto& p = *static_cast<const params::CopyPeer*>(parameters);
      copied(entry, "dtod", p.dst, p.src, p.bytes, entry.async ? p.stream : nullptr, next_correlation());
      return true;
    }
    case Call::kCopy2D: {
      const auto& p = *static_cast<const params::Copy2D*>(parameters);
      const CUDA_MEMCPY2D& c = *p.copy;
      copied_rows(entry, c, plane_address(c.dstMemoryType, c.dstHost, c.dstDevice, c.dstY * c.dstPitch + c.dstXInBytes),
                  plane_address(c.srcMemoryType, c.srcHost, c.srcDevice, c.srcY * c.srcPitch + c.srcXInBytes), c.Height,
                  entry.async ? p.stream : nullptr);
      return true;
    }
    case Call::kCopy3D: {
      const auto& p = *static_cast<const params::Copy3D*>(parameters);
      const CUDA_MEMCPY3D& c = *p.copy;
      const std::uint64_t dst = (c.dstZ * c.dstHeight + c.dstY) * c.dstPitch + c.dstXInBytes;
      const std::uint64_t src = (c.srcZ * c.srcHeight + c.srcY) * c.srcPitch + c.srcXInBytes;
      copied_rows(entry, c, plane_address(c.dstMemoryType, c.dstHost, c.dstDevice, dst),
                  plane_address(c.srcMemoryType, c.srcHost, c.srcDevice, src), c.Height * c.Depth,
                  entry.async ? p.stream : nullptr);
      return true;
    }
    case Call::kCopyBatch:
    case Call::kCopyBatch2: {
      // Both forms begin alike.
      const auto& p = *static_cast<const params::CopyBatch2*>(parameters);
      const CUstream stream =
          entry.call == Call::kCopyBatch2 ? p.stream : static_cast<const params::CopyBatch*>(parameters)->stream;
      const std::uint64_t correlation = next_correlation();
      for (std::size_t i = 0; i < p.count; ++i) {
        copied(entry, copy_kind(allocations, p.dsts[i], p.srcs[i]), p.dsts[i], p.srcs[i], p.bytes[i], stream,
               correlation);
      }
      return true;
    }
    default:
      return false;
  }
}

template <typename Params>
void set_line(const Entry& entry, const void* parameters, std::uint64_t element) {
  const auto& p = *static_cast<const Params*>(parameters);
  JsonLine line = start("memset");
  line.number("corr", next_correlation()).number("va", p.dst).number("bytes", p.count * element);
  line.number("stream", stream_number(entry.async ? p.stream : nullptr)).boolean("async", entry.async);
  finish(std::move(line));
}

void set_rows(const Entry& entry, const void* parameters, std::uint64_t element) {
  const auto& p = *static_cast<const params::Set2D*>(parameters);
  JsonLine line = start("memset");
  line.number("corr", next_correlation()).number("va", p.dst).number("bytes", p.width * element * p.height);
  line.number("stream", stream_number(entry.async ? p.stream : nullptr)).boolean("async", entry.async);
  line.number("rows", p.height).number("row_bytes", p.width * element).number("pitch", p.pitch);
  finish(std::move(line));
}

bool on_set(const Entry& entry, const void* parameters) {
  switch (entry.call) {
    case Call::kSet8:
      set_line<params::Set8>(entry, parameters, 1);
      return true;
    case Call::kSet16:
      set_line<params::Set16>(entry, parameters, 2);
      return true;
    case Call::kSet32:
      set_line<params::Set32>(entry, parameters, 4);
      return true;
    case Call::kSet2D8:
      set_rows(entry, parameters, 1);
      return true;
    case Call::kSet2D16:
      set_rows(entry, parameters, 2);
      return true;
    case Call::kSet2D32:
      set_rows(entry, parameters, 4);
      return true;
    default:
      return false;
  }
}

// Hints of managed memory.

// CU_MEM_LOCATION_TYPE_DEVICE is 1; the host, in all its forms, is -1.
int destination(const MemoryLocation& location) { return location.type == 1 ? location.id : -1; }
int destination(CUdevice device) { return device < 0 ? -1 : device; }

void prefetched(std::uint64_t va, std::uint64_t bytes, int to, CUstream stream) {
  JsonLine line = start("prefetch");
  line.number("va", va).number("bytes", bytes).number("to", to).number("stream", stream_number(stream));
  finish(std::move(line));
}

void discarded(std::uint64_t va, std::uint64_t bytes, CUstream stream, bool prefetches) {
  JsonLine line = start("discard");
  line.number("va", va).number("bytes", bytes).number("stream", stream_number(stream)).boolean("prefetch", prefetches);
  finish(std::move(line));
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
  JsonLine line = start("advise");
  line.number("va", va).number("bytes", bytes).text("advice", kNames[advice]).number("to", to);
  finish(std::move(line));
}

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
        if (call == Call::kDiscardPrefetchBatch) discarded(p.pointers[i], p.bytes[i], p.stream, true);
        if (p.location_count != 0) prefetched(p.pointers[i], p.bytes[i], destination(p.locations[place]), p.stream);
      }
      return true;
    }
    case Call::kDiscardBatch: {
      const auto& p = *static_cast<const params::DiscardBatch*>(parameters);
      for (std::size_t i = 0; i < p.count; ++i) discarded(p.pointers[i], p.bytes[i], p.stream, false);
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

// Launches, synchronisations, window.

bool on_launch(Call call, const void* parameters) {
  PendingLaunch pending{EventLog::instance().next_sequence(), 0, 0};
  switch (call) {
    case Call::kLaunch: {
      const auto& p = *static_cast<const params::Launch*>(parameters);
      pending.stream = number_of(p.stream);
      pending.shared_bytes = p.shared_bytes;
      break;
    }
    case Call::kLaunchEx: {
      const auto& p = *static_cast<const params::LaunchEx*>(parameters);
      pending.stream = number_of(p.config->hStream);
      pending.shared_bytes = p.config->sharedMemBytes;
      break;
    }
    case Call::kGraphLaunch:
      pending.stream = number_of(static_cast<const params::GraphLaunch*>(parameters)->stream);
      break;
    default:
      return false;
  }
  pending_launch() = pending;
  return true;
}

void synchronised(std::string_view kind, const CUstream* stream, const CUevent* event) {
  JsonLine line = start("sync");
  line.text("kind", kind);
  if (stream != nullptr) line.number("stream", stream_number(*stream));
  if (event != nullptr) line.number("event", number_of(*event));
  finish(std::move(line));
}

bool on_sync(Call call, const void* parameters) {
  switch (call) {
    case Call::kContextSync:
      synchronised("device", nullptr, nullptr);
      return true;
    case Call::kStreamSync:
      synchronised("stream", &static_cast<const params::StreamOnly*>(parameters)->stream, nullptr);
      return true;
    case Call::kEventSync:
      synchronised("event_synchronize", nullptr, &static_cast<const params::EventOnly*>(parameters)->event);
      return true;
    case Call::kEventRecord: {
      const auto& p = *static_cast<const params::EventRecord*>(parameters);
      synchronised("event_record", &p.stream, &p.event);
      return true;
    }
    case Call::kStreamWait: {
      const auto& p = *static_cast<const params::StreamWait*>(parameters);
      synchronised("event_wait", &p.stream, &p.event);
      return true;
    }
    default:
      return false;
  }
}

CallEffect on_entry(const Entry& entry, const void* parameters, Allocations& allocations) {
  if (allocates(entry.call)) {
    ++allocation_depth();
    return CallEffect::kNone;
  }
  if (entry.call == Call::kLaunch || entry.call == Call::kLaunchEx || entry.call == Call::kGraphLaunch) {
    on_launch(entry.call, parameters);
    return CallEffect::kNone;
  }
  if (entry.call == Call::kProfilerStart || entry.call == Call::kProfilerStop) {
    const bool open = entry.call == Call::kProfilerStart;
    JsonLine line = start("window");
    line.boolean("open", open);
    finish(std::move(line));
    return open ? CallEffect::kWindowOpened : CallEffect::kWindowClosed;
  }
  (void)(on_free(entry.call, parameters, allocations) || on_copy(entry, parameters, allocations) ||
         on_set(entry, parameters) || on_hint(entry.call, parameters) || on_sync(entry.call, parameters));
  return CallEffect::kNone;
}

}  // namespace

std::span<const std::uint32_t> recorded_calls() {
  static const auto* const numbers = [] {
    auto* const list = new std::vector<std::uint32_t>;
    for (const Entry& entry : kCalls) list->push_back(entry.number);
    return list;
  }();
  return *numbers;
}

PendingLaunch& pending_launch() {
  thread_local PendingLaunch pending;
  return pending;
}

bool inside_allocation() { return allocation_depth() > 0; }

std::uint64_t next_correlation() {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

CallEffect on_driver_call(const DriverCall& call, Allocations& allocations) {
  const Entry* const entry = call.number < kMostNumber ? entries_by_number()[call.number] : nullptr;
  if (entry == nullptr || call.parameters == nullptr) {
    if (entry == nullptr || (entry->call != Call::kContextSync && entry->call < Call::kProfilerStart)) {
      return CallEffect::kNone;
    }
  }
  if (call.entry) return on_entry(*entry, call.parameters, allocations);
  if (allocates(entry->call)) {
    if (allocation_depth() > 0) --allocation_depth();
    if (call.result == CUDA_SUCCESS) on_allocated(entry->call, call.parameters, allocations);
  }
  if (entry->call == Call::kLaunch || entry->call == Call::kLaunchEx || entry->call == Call::kGraphLaunch) {
    pending_launch() = {};
    return CallEffect::kLaunchReturned;
  }
  return CallEffect::kNone;
}

}  // namespace uvmtrace::access
