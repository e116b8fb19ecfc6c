// SPDX-License-Identifier: Apache-2.0
#include "tracer/timing/activity.h"

#include <pthread.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>

#include "tracer/log/event_log.h"
#include "tracer/timing/cupti_library.h"
#include "tracer/timing/cupti_records.h"

namespace uvmtrace {

namespace {

// A buffer is delivered when all its records are complete. 1 MB holds some 5,000 kernels. Buffers are small because a
// busy GPU always has an incomplete record in the newest buffer, which a killed program loses.
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr auto kFlushPeriod = std::chrono::milliseconds(200);

std::atomic<std::uint64_t> lost_records{0};

JsonLine timed(std::string_view type, std::uint32_t correlation, std::uint64_t node, std::uint64_t start,
               std::uint64_t end) {
  JsonLine line(type);
  line.number("corr", correlation);
  if (node != 0) line.number("node", node);
  line.number("start_ns", start).number("end_ns", end);
  return line;
}

// A forced flush also delivers records of work that had not ended: they have no times and count as lost.
bool complete(std::uint64_t start, std::uint64_t end) {
  if (start != 0 && end != 0) return true;
  lost_records.fetch_add(1, std::memory_order_relaxed);
  return false;
}

void write(JsonLine&& line, std::uint32_t device) {
  if (device != 0) line.number("device", device);
  EventLog::instance().write(std::move(line));
}

void read_kernel(const KernelRecord& r) {
  if (!complete(r.start, r.end)) return;
  JsonLine line = timed("kernel", r.correlationId, r.graphNodeId, r.start, r.end);
  line.number("registers", static_cast<std::uint32_t>(r.registersPerThread));
  line.number("shared_bytes", r.staticSharedMemory + r.dynamicSharedMemory);
  write(std::move(line), r.deviceId);
}

template <typename Record>
void read_transfer(std::string_view type, const Record& r) {
  if (!complete(r.start, r.end)) return;
  write(timed(type, r.correlationId, r.graphNodeId, r.start, r.end), r.deviceId);
}

std::string_view counter_name(CUpti_ActivityUnifiedMemoryCounterKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD:
      return "htod";
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH:
      return "dtoh";
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD:
      return "dtod";
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT:
      return "cpu_fault";
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT:
      return "gpu_fault";
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING:
      return "thrashing";
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING:
      return "throttling";
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP:
      return "remote_map";
    default:
      return {};
  }
}

void read_uvm(const UvmRecord& r) {
  const std::string_view counter = counter_name(r.counterKind);
  if (counter.empty()) return;
  JsonLine line("uvm");
  line.text("counter", counter).number("va", r.address).number("value", r.value);
  line.number("start_ns", r.start).number("end_ns", r.end).number("flags", r.flags);
  // The host has the number -1.
  line.number("source", static_cast<std::int32_t>(r.srcId)).number("destination", static_cast<std::int32_t>(r.dstId));
  EventLog::instance().write(std::move(line));
}

void read_record(const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
      return read_kernel(*reinterpret_cast<const KernelRecord*>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return read_transfer("memcpy_time", *reinterpret_cast<const MemcpyRecord*>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return read_transfer("memcpy_time", *reinterpret_cast<const PeerMemcpyRecord*>(record));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return read_transfer("memset_time", *reinterpret_cast<const MemsetRecord*>(record));
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
      return read_uvm(*reinterpret_cast<const UvmRecord*>(record));
    default:
      return;
  }
}

// Fresh pages from the system are zero already and take memory only where they are used. CUPTI is told so and does not
// clear the buffer in the program's thread.
void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::calloc(kBufferBytes, 1));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;  // as many as fit
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t /*bytes*/,
                          std::size_t valid_bytes) {
  try {
    CUpti_Activity* record = nullptr;
    while (valid_bytes > 0 && cupti().cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
      read_record(record);
    }
    std::size_t dropped = 0;
    if (cupti().cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS) {
      lost_records.fetch_add(dropped, std::memory_order_relaxed);
    }
  } catch (...) {
    lost_records.fetch_add(1, std::memory_order_relaxed);  // out of memory: the program continues
  }
  std::free(buffer);
}

class PeriodicFlush {
 public:
  static PeriodicFlush& instance() {
    static PeriodicFlush* const flush = new PeriodicFlush;
    return *flush;
  }
  void start() {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable() && !stop_) thread_ = std::thread(&PeriodicFlush::run, this);
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kFlushPeriod, [&] { return stop_; })) {
      lock.unlock();
      (void)cupti().cuptiActivityFlushAll(0);
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
  bool stop_ = false;
};

}  // namespace

Activity& Activity::instance() {
  static Activity* const activity = new Activity;
  return *activity;
}

std::string Activity::start() {
  const CuptiLibrary& api = cupti();
  std::uint8_t yes = 1;
  std::size_t bytes = sizeof yes;
  (void)api.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes, &yes);
  CUptiResult result = api.cuptiActivityRegisterCallbacks(&give_buffer, &take_buffer);
  if (result != CUPTI_SUCCESS) return "CUPTI takes no buffers: " + describe(result);
  // Not KIND_KERNEL, which runs kernels one at a time, and not KIND_GRAPH_TRACE, which hides the nodes of graphs.
  for (const CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET}) {
    result = api.cuptiActivityEnable(kind);
    if (result != CUPTI_SUCCESS) return "CUPTI cannot record this GPU's work: " + describe(result);
  }
  return {};
}

std::string Activity::start_uvm_counters(std::uint32_t device) {
  constexpr std::array kKinds = {CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
                                 CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
                                 CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD,
                                 CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT,
                                 CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
                                 CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING,
                                 CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING,
                                 CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP};
  std::array<CUpti_ActivityUnifiedMemoryCounterConfig, kKinds.size()> wanted{};
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    wanted[i].scope = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE;
    wanted[i].kind = kKinds[i];
    wanted[i].deviceId = device;
    wanted[i].enable = 1;
  }
  CUptiResult result = cupti().cuptiActivityConfigureUnifiedMemoryCounter(wanted.data(), wanted.size());
  if (result == CUPTI_SUCCESS) result = cupti().cuptiActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
  return result == CUPTI_SUCCESS ? std::string() : describe(result);
}

void Activity::start_periodic_flush() { PeriodicFlush::instance().start(); }

std::uint64_t Activity::finish() {
  PeriodicFlush::instance().stop();
  (void)cupti().cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  return lost_records.load(std::memory_order_relaxed);
}

}  // namespace uvmtrace
