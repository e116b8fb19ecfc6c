// SPDX-License-Identifier: Apache-2.0
// Start and end of the memory pass. The CUDA driver loads this library when the program initialises CUDA
// (CUDA_INJECTION64_PATH) and calls InitializeInjection, which always returns 1: no error here may keep the program
// from using CUDA.
//
// Only callbacks are requested from CUPTI. Its records of kernels would themselves take GPU memory.
#include <cupti.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>

#include "tracer/log/event_log.h"
#include "tracer/log/process_header.h"
#include "tracer/log/start_once.h"
#include "tracer/memory/meter.h"
#include "tracer/timing/cupti_library.h"
#include "tracer/timing/driver_library.h"

namespace uvmtrace {

namespace {

constexpr const char* kPass = "memory";

void context_created(const CUpti_ResourceData& data) {
  static std::once_flag once;
  std::call_once(once, [&] {
    std::uint32_t device = 0;
    (void)cupti().cuptiGetDeviceId(data.context, &device);
    EventLog::instance().write_header(header_line(kPass, describe_gpu(static_cast<CUdevice>(device))));
  });
}

void CUPTIAPI on_callback(void* /*user*/, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (data == nullptr || !EventLog::instance().is_open()) return;
  try {
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
      MemoryMeter::instance().on_call(id, *static_cast<const CUpti_CallbackData*>(data));
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
      context_created(*static_cast<const CUpti_ResourceData*>(data));
    }
  } catch (...) {
    static std::atomic_flag said = ATOMIC_FLAG_INIT;
    if (!said.test_and_set()) EventLog::complain("out of memory; some events are not recorded");
  }
}

void at_exit() {
  if (!EventLog::instance().is_open()) return;
  EventLog::instance().write_header(header_line(kPass, {}));  // if no context was ever created
  EventLog::instance().close(0);
}

std::string start() {
  CUpti_SubscriberHandle subscriber = nullptr;
  std::string problem = CuptiLibrary::load();
  if (problem.empty()) problem = subscribe(&on_callback, subscriber);
  if (!problem.empty()) return problem;
  // open() reports its own errors.
  if (!EventLog::instance().open(kPass, true)) {
    (void)cupti().cuptiUnsubscribe(subscriber);
    return {};
  }
  (void)cupti().cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
  (void)cupti().cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
  if (std::atexit(&at_exit) != 0) return "cannot register an exit handler; the end of the log may be missing";
  return {};
}

}  // namespace

}  // namespace uvmtrace

extern "C" [[gnu::visibility("default")]] int InitializeInjection(void) {
  return uvmtrace::start_once(&uvmtrace::start);
}
