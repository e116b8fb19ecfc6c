// SPDX-License-Identifier: Apache-2.0
// Start and end of the timing pass. The CUDA driver loads this library when the program initialises CUDA
// (CUDA_INJECTION64_PATH) and calls InitializeInjection.
//
// InitializeInjection always returns 1: the documentation gives 1 for success and does not say what the driver does
// otherwise, and no error here may keep the program from using CUDA. Without a subscription the library does nothing.
#include <cupti.h>

#include <array>
#include <atomic>
#include <bitset>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>

#include "tracer/log/event_log.h"
#include "tracer/log/process_header.h"
#include "tracer/log/start_once.h"
#include "tracer/timing/activity.h"
#include "tracer/timing/calls.h"
#include "tracer/timing/capture.h"
#include "tracer/timing/cupti_library.h"
#include "tracer/timing/devices.h"
#include "tracer/timing/driver_library.h"
#include "tracer/timing/graphs.h"
#include "tracer/timing/parameters.h"
#include "tracer/timing/tensor_maps.h"

namespace uvmtrace {

namespace {

// The first context identifies the GPU, and only from now on can CUPTI count events of managed memory.
void context_created(const CUpti_ResourceData& data) {
  std::uint32_t context = 0;
  std::uint32_t device = 0;
  if (cupti().cuptiGetContextId(data.context, &context) == CUPTI_SUCCESS &&
      cupti().cuptiGetDeviceId(data.context, &device) == CUPTI_SUCCESS) {
    set_device_of_context(context, device);
  }
  static std::once_flag once;
  std::call_once(once, [&] {
    EventLog::instance().write_header(header_line("timing", describe_gpu(static_cast<CUdevice>(device))));
    Activity::instance().start_periodic_flush();
  });
  // Their queue loses events when many come, without a word; `uvmtrace faults` counts them without loss.
  const char* const wanted = std::getenv("UVMTRACE_MANAGED_COUNTERS");
  if (wanted != nullptr && std::string_view(wanted) == "0") return;
  static std::mutex mutex;
  static std::bitset<256> counted;
  {
    const std::lock_guard lock(mutex);
    if (device >= counted.size() || counted[device]) return;
    counted[device] = true;
  }
  const std::string problem = Activity::instance().start_uvm_counters(device);
  if (!problem.empty()) {
    EventLog::instance().note("no counters of managed memory on GPU " + std::to_string(device) + ": " + problem);
  }
}

void on_resource(CUpti_CallbackId id, const CUpti_ResourceData& data) {
  // For graphs the descriptor is a CUpti_GraphData.
  const auto* const graph = static_cast<const CUpti_GraphData*>(data.resourceDescriptor);
  switch (id) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
      context_created(data);
      break;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
      if (data.resourceDescriptor != nullptr) {
        TensorMaps::instance().note_module(*static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor));
      }
      break;
    case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
      forget_parameter_layouts();
      break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
      note_node_created();
      break;
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
      if (graph != nullptr) Graphs::note_node_cloned(node_number(graph->originalNode), node_number(graph->node));
      break;
    default:
      break;
  }
}
constexpr std::array kResources = {CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_MODULE_LOADED,
                                   CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                                   CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED};

// CUPTI 12.3 and later announce that they stop.
#if CUPTI_API_VERSION >= 21
#define UVMTRACE_HAS_STATE_CALLBACKS 1
void on_state(CUpti_CallbackId id, const CUpti_StateData& data) {
  if (id != CUPTI_CBID_STATE_FATAL_ERROR) return;
  EventLog::instance().warn("CUPTI gave up: " + describe(data.notification.result) + "; no GPU times from here on");
}
#else
#define UVMTRACE_HAS_STATE_CALLBACKS 0
#endif

void CUPTIAPI on_callback(void* /*user*/, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (data == nullptr || !EventLog::instance().is_open()) return;
  try {
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
      CallTable::instance().dispatch(id, *static_cast<const CUpti_CallbackData*>(data));
    } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
      on_resource(id, *static_cast<const CUpti_ResourceData*>(data));
#if UVMTRACE_HAS_STATE_CALLBACKS
    } else if (domain == CUPTI_CB_DOMAIN_STATE) {
      on_state(id, *static_cast<const CUpti_StateData*>(data));
#endif
    }
  } catch (...) {
    static std::atomic_flag said = ATOMIC_FLAG_INIT;
    if (!said.test_and_set()) EventLog::complain("out of memory; some events are not recorded");
  }
}

CUpti_SubscriberHandle subscriber = nullptr;

void enable_callbacks() {
  CallTable& table = CallTable::instance();
  add_memory_calls(table);
  add_copy_calls(table);
  add_hint_calls(table);
  add_order_calls(table);
  add_launch_calls(table);
  add_graph_calls(table);
  add_map_calls(table);
  // A library that is older than these headers refuses calls that it does not know; programs cannot make these calls
  // there.
  table.for_each(
      [](CUpti_CallbackId id) { (void)cupti().cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id); });
  for (const CUpti_CallbackIdResource id : kResources) {
    (void)cupti().cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, static_cast<CUpti_CallbackId>(id));
  }
#if UVMTRACE_HAS_STATE_CALLBACKS
  (void)cupti().cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR);
#endif
}

// Also runs in forked children that did not execute another program; their log is closed already.
void at_exit() {
  if (!EventLog::instance().is_open()) return;
  const std::uint64_t lost = Activity::instance().finish();
  EventLog::instance().write_header(header_line("timing", {}));  // if no context was ever created
  EventLog::instance().close(lost);
}

std::string start() {
  std::string problem = CuptiLibrary::load();
  if (problem.empty()) problem = subscribe(&on_callback, subscriber);
  if (!problem.empty()) return problem;
  // open() reports its own errors.
  if (!EventLog::instance().open("timing", true)) {
    (void)cupti().cuptiUnsubscribe(subscriber);
    return {};
  }
  problem = Activity::instance().start();
  if (!problem.empty()) {
    (void)cupti().cuptiUnsubscribe(subscriber);
    EventLog::instance().note(problem);
    EventLog::instance().write_header(header_line("timing", {}));
    EventLog::instance().close(0);
    return problem;
  }
  enable_callbacks();
  if (std::atexit(&at_exit) != 0) return "cannot register an exit handler; the end of the log may be missing";
  return {};
}

}  // namespace

}  // namespace uvmtrace

extern "C" [[gnu::visibility("default")]] int InitializeInjection(void) {
  return uvmtrace::start_once(&uvmtrace::start);
}
