// SPDX-License-Identifier: Apache-2.0
#include "tracer/memory/meter.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "tracer/log/event_log.h"
#include "tracer/log/host_clock.h"
#include "tracer/timing/driver_library.h"

namespace uvmtrace {

namespace {

// The meter's own calls come back as callbacks.
thread_local bool is_reading = false;
struct Reader {
  Reader() { is_reading = true; }
  ~Reader() { is_reading = false; }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
};

// Returns whether a call changes how much the program has allocated. Additional memory of such calls (rounding up, page
// tables) belongs to the allocation, too.
bool allocates(CUpti_CallbackId id) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFree:
    case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
    case CUPTI_DRIVER_TRACE_CBID_cuMemCreate:
    case CUPTI_DRIVER_TRACE_CBID_cuMemRelease:
    case CUPTI_DRIVER_TRACE_CBID_cuMemUnmap:
      return true;
    default:
      return false;
  }
}

// Allows readings while a stream is captured, without capturing them.
class OutsideCapture {
 public:
  OutsideCapture() { exchange(); }
  ~OutsideCapture() { exchange(); }
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  void exchange() {
    if (driver().cuThreadExchangeStreamCaptureMode != nullptr) (void)driver().cuThreadExchangeStreamCaptureMode(&mode_);
  }
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace

MemoryMeter& MemoryMeter::instance() {
  static MemoryMeter* const meter = new MemoryMeter;  // callbacks may come after static destructors
  return *meter;
}

void MemoryMeter::on_call(CUpti_CallbackId id, const CUpti_CallbackData& data) {
  if (is_reading) return;
  const Reader reader;
  if (data.callbackSite == CUPTI_API_ENTER) {
    calls_begun_.fetch_add(1);
    if (allocates(id)) running_allocations_.fetch_add(1);
    if (running_calls_.fetch_add(1) == 0) compare({}, false);
    if (id == CUPTI_DRIVER_TRACE_CBID_cuMemPoolDestroy) forget_pool(data);
  } else {
    const auto* const result = static_cast<const CUresult*>(data.functionReturnValue);
    if (result == nullptr || *result == CUDA_SUCCESS) {
      note_pool(id, data);
      if (id == CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged) note_managed(data);
    }
    if (allocates(id)) running_allocations_.fetch_sub(1);
    compare(data.functionName == nullptr ? "?" : data.functionName, allocates(id));
    running_calls_.fetch_sub(1);
  }
}

void MemoryMeter::compare(std::string_view call, bool allocates) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t begun = calls_begun_.load();
  const std::optional<Reading> now = read_settled();
  if (!now || running_allocations_.load() != 0) return;
  if (!pools_[now->device].empty() && (running_calls_.load() != 1 || calls_begun_.load() != begun)) return;
  std::optional<std::int64_t>& before = free_bytes_[now->device];
  const std::int64_t taken = before ? *before - now->free_bytes : 0;
  const bool first = !before;
  before = now->free_bytes;
  if (!first && taken == 0) return;
  EventLog& log = EventLog::instance();
  JsonLine line = log.host_event(first ? "free_memory" : "device_memory");
  if (now->device != 0) line.number("device", now->device);
  if (first) {
    line.number("bytes", now->free_bytes);
  } else {
    line.text("call", call).number("taken", taken);
    if (allocates) line.boolean("allocation", true);
  }
  put_times(line);
  log.write(std::move(line));
}

std::optional<MemoryMeter::Reading> MemoryMeter::read() {
  const DriverLibrary& api = driver();
  CUdevice device = 0;
  if (api.cuCtxGetDevice == nullptr || api.cuMemGetInfo_v2 == nullptr) return std::nullopt;
  if (api.cuCtxGetDevice(&device) != CUDA_SUCCESS) return std::nullopt;
  if (device < 0 || static_cast<std::size_t>(device) >= kMostDevices) return std::nullopt;
  const OutsideCapture outside;
  std::size_t free_bytes = 0, total_bytes = 0;
  if (api.cuMemGetInfo_v2(&free_bytes, &total_bytes) != CUDA_SUCCESS) return std::nullopt;
  return Reading{static_cast<std::uint32_t>(device), static_cast<std::int64_t>(free_bytes) + held_by_pools(device)};
}

std::optional<MemoryMeter::Reading> MemoryMeter::read_settled() {
  constexpr int kMostTries = 50;
  constexpr auto kPause = std::chrono::milliseconds(20);
  std::optional<Reading> now = read();
  for (int tries = 0; now && !pools_[now->device].empty() && now->free_bytes != free_bytes_[now->device]; ++tries) {
    if (tries == kMostTries) return std::nullopt;
    std::this_thread::sleep_for(kPause);
    const std::optional<Reading> later = read();
    if (later && later->free_bytes == now->free_bytes) break;
    now = later;
  }
  return now;
}

std::int64_t MemoryMeter::held_by_pools(CUdevice device) {
  const DriverLibrary& api = driver();
  std::uint64_t held = 0, bytes = 0;
  for (CUmemoryPool pool : pools_[static_cast<std::size_t>(device)]) {
    if (api.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes) == CUDA_SUCCESS) held += bytes;
  }
  if (api.cuDeviceGetGraphMemAttribute != nullptr &&
      api.cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes) == CUDA_SUCCESS) {
    held += bytes;
  }
  return static_cast<std::int64_t>(held);
}

void MemoryMeter::note_pool(CUpti_CallbackId id, const CUpti_CallbackData& data) {
  const DriverLibrary& api = driver();
  if (api.cuMemPoolGetAttribute == nullptr || api.cuDeviceGetMemPool == nullptr) return;
  CUmemoryPool pool = nullptr;
  CUdevice device = 0;
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz:
      pool = static_cast<const cuMemAllocFromPoolAsync_params*>(data.functionParams)->pool;
      break;
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync:
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz:
      break;
    default:
      return;
  }
  if (api.cuCtxGetDevice(&device) != CUDA_SUCCESS || device < 0 || static_cast<std::size_t>(device) >= kMostDevices) {
    return;
  }
  if (pool == nullptr && api.cuDeviceGetMemPool(&pool, device) != CUDA_SUCCESS) return;
  const std::lock_guard lock(mutex_);
  auto& known = pools_[static_cast<std::size_t>(device)];
  if (std::find(known.begin(), known.end(), pool) == known.end()) known.push_back(pool);
}

void MemoryMeter::forget_pool(const CUpti_CallbackData& data) {
  const std::lock_guard lock(mutex_);
  for (auto& known : pools_) std::erase(known, static_cast<const cuMemPoolDestroy_params*>(data.functionParams)->pool);
}

// Pages of managed memory migrate at any time, so free memory no longer tells how much the process takes.
void MemoryMeter::note_managed(const CUpti_CallbackData& data) {
  const auto& p = *static_cast<const cuMemAllocManaged_params*>(data.functionParams);
  EventLog& log = EventLog::instance();
  JsonLine line = log.host_event("alloc");
  line.number("va", *p.dptr).number("bytes", p.bytesize).text("kind", "managed");
  put_times(line);
  log.write(std::move(line));
}

}  // namespace uvmtrace
