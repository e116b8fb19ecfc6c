// SPDX-License-Identifier: Apache-2.0
#include "tracer/ground_truth/cupti_recorder.h"

#include <cupti.h>

#include <chrono>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace uvmtrace::ground_truth {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{8} << 20;
constexpr std::size_t kBufferAlignment = 8;

#if CUPTI_API_VERSION >= 130000
using KernelActivity = CUpti_ActivityKernel10;
using CounterActivity = CUpti_ActivityUnifiedMemoryCounter3;
#else
using KernelActivity = CUpti_ActivityKernel9;
using CounterActivity = CUpti_ActivityUnifiedMemoryCounter2;
#endif

struct State {
  std::mutex mutex;
  Recording recording;
};
State& state() {
  static State instance;
  return instance;
}

std::string describe(const char* what, CUptiResult result) {
  const char* text = nullptr;
  cuptiGetResultString(result, &text);
  return std::string(what) + ": " + (text != nullptr ? text : "unknown") + " (" +
         std::to_string(static_cast<int>(result)) + ")";
}

void add(const CUpti_Activity* record, Recording& recording) {
  if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    const auto* kernel = reinterpret_cast<const KernelActivity*>(record);
    const auto shared = static_cast<std::uint32_t>(kernel->staticSharedMemory + kernel->dynamicSharedMemory);
    recording.kernels.push_back({kernel->start,
                                 kernel->end,
                                 kernel->name == nullptr ? "" : kernel->name,
                                 {kernel->gridX, kernel->gridY, kernel->gridZ},
                                 {kernel->blockX, kernel->blockY, kernel->blockZ},
                                 kernel->registersPerThread,
                                 shared});
  } else if (record->kind == CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) {
    const auto* counter = reinterpret_cast<const CounterActivity*>(record);
    recording.counters.push_back({static_cast<CounterKind>(counter->counterKind), counter->start, counter->end,
                                  counter->address, counter->value, counter->flags});
  }
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t /*size*/,
                          std::size_t valid) {
  State& shared = state();
  const std::lock_guard lock(shared.mutex);
  CUpti_Activity* record = nullptr;
  while (valid > 0 && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    add(record, shared.recording);
  }
  std::size_t dropped = 0;
  if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS) {
    shared.recording.dropped += dropped;
  }
  std::free(buffer);
}

std::size_t records_so_far() {
  State& shared = state();
  const std::lock_guard lock(shared.mutex);
  return shared.recording.counters.size() + shared.recording.kernels.size();
}

}  // namespace

std::string start_recording(std::uint32_t device, int peer) {
  if (const CUptiResult result = cuptiActivityRegisterCallbacks(give_buffer, take_buffer); result != CUPTI_SUCCESS) {
    return describe("cuptiActivityRegisterCallbacks", result);
  }
  constexpr CUpti_ActivityUnifiedMemoryCounterKind kKinds[] = {
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING,
      CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP,
  };
  std::vector<CUpti_ActivityUnifiedMemoryCounterConfig> configuration;
  const auto count = [&](CUpti_ActivityUnifiedMemoryCounterKind kind, std::uint32_t of) {
    CUpti_ActivityUnifiedMemoryCounterConfig& entry = configuration.emplace_back();
    entry.scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE;
    entry.kind = kind;
    entry.deviceId = of;
    entry.enable = 1;
  };
  for (const CUpti_ActivityUnifiedMemoryCounterKind kind : kKinds) count(kind, device);
  if (peer >= 0) {
    count(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD, device);
    count(CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD, static_cast<std::uint32_t>(peer));
  }
  if (const CUptiResult result = cuptiActivityConfigureUnifiedMemoryCounter(
          configuration.data(), static_cast<std::uint32_t>(configuration.size()));
      result != CUPTI_SUCCESS) {
    return describe("cuptiActivityConfigureUnifiedMemoryCounter", result);
  }
  if (const CUptiResult result = cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
      result != CUPTI_SUCCESS) {
    return describe("cuptiActivityEnable of unified-memory counters", result);
  }
  if (const CUptiResult result = cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL); result != CUPTI_SUCCESS) {
    return describe("cuptiActivityEnable of kernels", result);
  }
  return {};
}

std::uint64_t recording_clock_ns() {
  std::uint64_t now = 0;
  cuptiGetTimestamp(&now);
  return now;
}

Recording take_recording() {
  using namespace std::chrono_literals;
  constexpr int kQuietLooks = 3, kMostLooks = 200;
  std::size_t seen = SIZE_MAX;
  for (int look = 0, quiet = 0; look < kMostLooks && quiet < kQuietLooks; ++look) {
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    const std::size_t now = records_so_far();
    quiet = now == seen ? quiet + 1 : 0;
    seen = now;
    std::this_thread::sleep_for(2ms);
  }
  State& shared = state();
  const std::lock_guard lock(shared.mutex);
  return std::exchange(shared.recording, {});
}

}  // namespace uvmtrace::ground_truth
