// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/session.h"

#include <cstdlib>
#include <utility>

#include "tracer/access/call_list.h"
#include "tracer/access/driver_calls.h"
#include "tracer/access/gpu.h"
#include "tracer/access/layout.h"
#include "tracer/access/sanitizer_api.h"
#include "tracer/log/event_log.h"
#include "tracer/log/host_clock.h"

namespace uvmtrace::access {

namespace {

// Session::start() creates it, and it is never destroyed: callbacks may come after static destructors.
Session*& running() {
  static Session* session = nullptr;
  return session;
}

std::string pass_refused(const std::string& why) { return why + "; the program runs on unrecorded"; }

}  // namespace

void Session::start() {
  static std::once_flag once;
  std::call_once(once, [] {
    host_times_wanted().store(false);  // instrumented kernels have no meaningful times
    // Concurrent launches from several streams would share the marks.
    (void)::setenv("SANITIZER_DISABLE_PARALLEL_LAUNCHES", "1", 0);
    if (const std::string problem = sanitizer().load(); !problem.empty()) {
      EventLog::complain(pass_refused(problem));
      EventLog::instance().abandon();
      return;
    }
    if (!EventLog::instance().open("access", true)) return;
    auto* const session = new Session(Options::from_environment());
    if (const std::string problem = session->subscribe(); !problem.empty()) {
      EventLog::complain(pass_refused(problem));
      EventLog::instance().abandon();
      delete session;
      return;
    }
    running() = session;
    (void)std::atexit([] {
      if (Session* const session = running(); session != nullptr) session->write_header(-1);
      EventLog::instance().close(0);
    });
  });
}

std::string Session::subscribe() {
  const SanitizerApi& api = sanitizer();
  SanitizerResult result = api.sanitizerSubscribe(&subscriber_, &Session::on_callback, this);
  if (result != SANITIZER_SUCCESS) {
    return "the Compute Sanitizer cannot attach: " + describe(result) +
           " (another profiler is attached, or it does not support this driver or GPU)";
  }
  const auto enable = [&](Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id) {
    if (result == SANITIZER_SUCCESS) result = api.sanitizerEnableCallback(1, subscriber_, domain, id);
  };
  const auto enable_domain = [&](Sanitizer_CallbackDomain domain) {
    if (result == SANITIZER_SUCCESS) result = api.sanitizerEnableDomain(1, subscriber_, domain);
  };
  enable_domain(SANITIZER_CB_DOMAIN_RESOURCE);
  enable_domain(SANITIZER_CB_DOMAIN_GRAPHS);
  enable(SANITIZER_CB_DOMAIN_LAUNCH, SANITIZER_CBID_LAUNCH_BEGIN);
  enable(SANITIZER_CB_DOMAIN_LAUNCH, SANITIZER_CBID_LAUNCH_END);
  if (result != SANITIZER_SUCCESS) {
    (void)api.sanitizerUnsubscribe(subscriber_);
    return "the Compute Sanitizer gives no callbacks: " + describe(result);
  }
  // If the driver does not know one of the newest calls, the program cannot make it either.
  for (const CallEntry& call : recorded_calls()) {
    (void)api.sanitizerEnableCallback(1, subscriber_, SANITIZER_CB_DOMAIN_DRIVER_API, call.number);
  }
  return {};
}

void Session::write_header(int device) {
  std::call_once(header_, [&] {
    JsonLine line = header_line("access", device < 0 ? GpuDescription{} : describe_gpu(device));
    line.number("quantum_bytes", 1U << kQuantumShift).number("phase_bytes", 1U << kPageShift);
    line.number("phases", options_.phases).boolean("order", options_.order).boolean("counts", options_.counts);
    EventLog::instance().write_header(std::move(line));
  });
}

// No exception may leave a callback, which runs inside the driver.
void Session::on_callback(void* self, Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id,
                          const void* data) noexcept {
  try {
    static_cast<Session*>(self)->dispatch(domain, id, data);
  } catch (...) {
    static std::once_flag once;
    std::call_once(once, [] { EventLog::complain("out of memory in a callback; the log is incomplete"); });
  }
}

void Session::dispatch(Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id, const void* data) {
  if (data == nullptr) return;
  switch (domain) {
    case SANITIZER_CB_DOMAIN_DRIVER_API:
      if (!OwnCall::active()) on_driver_api(id, *static_cast<const Sanitizer_CallbackData*>(data));
      return;
    case SANITIZER_CB_DOMAIN_RESOURCE:
      on_resource(id, data);
      return;
    case SANITIZER_CB_DOMAIN_LAUNCH:
      if (id == SANITIZER_CBID_LAUNCH_BEGIN) launches_.begin(*static_cast<const Sanitizer_LaunchData*>(data));
      if (id == SANITIZER_CBID_LAUNCH_END) launches_.end(*static_cast<const Sanitizer_LaunchData*>(data));
      return;
    case SANITIZER_CB_DOMAIN_GRAPHS:
      on_graph(id, data);
      return;
    default:
      return;
  }
}

void Session::on_driver_api(Sanitizer_CallbackId id, const Sanitizer_CallbackData& data) {
  DriverCall call;
  call.number = id;
  call.entry = data.callbackSite == SANITIZER_API_ENTER;
  call.parameters = data.functionParams;
  if (!call.entry && data.functionReturnValue != nullptr) {
    call.result = *static_cast<const CUresult*>(data.functionReturnValue);
  }
  switch (on_driver_call(call, allocations_)) {
    case CallEffect::kWindowOpened:
      if (options_.window) modules_.open_window();
      return;
    case CallEffect::kWindowClosed:
      if (options_.window) modules_.close_window();
      return;
    case CallEffect::kLaunchReturned:
      launches_.call_returned();
      return;
    case CallEffect::kNone:
      return;
  }
}

void Session::on_resource(Sanitizer_CallbackId id, const void* data) {
  switch (id) {
    case SANITIZER_CBID_RESOURCE_CONTEXT_CREATION_FINISHED:
      write_header(static_cast<int>(static_cast<const Sanitizer_ResourceContextData*>(data)->device));
      return;
    case SANITIZER_CBID_RESOURCE_CONTEXT_DESTROY_STARTING: {
      const CUcontext context = static_cast<const Sanitizer_ResourceContextData*>(data)->context;
      launches_.context_gone(context);
      modules_.context_gone(context);
      return;
    }
    case SANITIZER_CBID_RESOURCE_MODULE_LOADED: {
      const auto& module = *static_cast<const Sanitizer_ResourceModuleData*>(data);
      if (!OwnCall::active()) modules_.loaded(module.context, module.module);
      return;
    }
    case SANITIZER_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
      modules_.unloaded(static_cast<const Sanitizer_ResourceModuleData*>(data)->module);
      return;
    case SANITIZER_CBID_RESOURCE_DEVICE_MEMORY_ALLOC:
      on_unasked_memory(*static_cast<const Sanitizer_ResourceMemoryData*>(data));
      return;
    case SANITIZER_CBID_RESOURCE_DEVICE_MEMORY_FREE:
      on_memory_gone(*static_cast<const Sanitizer_ResourceMemoryData*>(data));
      return;
    default:
      return;
  }
}

// Handles memory that appears without a call of the program: `__device__` variables of a module, the heap of malloc()
// in kernels, the driver's own.
void Session::on_unasked_memory(const Sanitizer_ResourceMemoryData& memory) {
  if (OwnCall::active() || inside_allocation() || memory.size == 0) return;
  if ((memory.flags & SANITIZER_MEMORY_FLAG_PEER) != 0 || allocations_.find(memory.address)) return;
  (void)allocations_.add({memory.address, memory.size, "module"});
  JsonLine line = EventLog::instance().host_event("alloc");
  line.number("va", memory.address).number("bytes", memory.size).text("kind", "module").number("flags", memory.flags);
  EventLog::instance().write(std::move(line));
}

void Session::on_memory_gone(const Sanitizer_ResourceMemoryData& memory) {
  if (OwnCall::active()) return;
  const auto allocation = allocations_.find(memory.address);
  if (!allocation || allocation->va != memory.address || std::string_view(allocation->kind) != "module") return;
  (void)allocations_.remove(memory.address);
  JsonLine line = EventLog::instance().host_event("free");
  line.number("va", memory.address).text("kind", "module");
  EventLog::instance().write(std::move(line));
}

void Session::on_graph(Sanitizer_CallbackId id, const void* data) {
  switch (id) {
    case SANITIZER_CBID_GRAPHS_LAUNCH_BEGIN:
      launches_.graph_begin(*static_cast<const Sanitizer_GraphLaunchData*>(data));
      return;
    case SANITIZER_CBID_GRAPHS_LAUNCH_END:
      launches_.graph_end(*static_cast<const Sanitizer_GraphLaunchData*>(data));
      return;
    case SANITIZER_CBID_GRAPHS_NODE_LAUNCH_BEGIN:
      launches_.graph_node(*static_cast<const Sanitizer_GraphNodeLaunchData*>(data));
      return;
    default:
      return;
  }
}

}  // namespace uvmtrace::access
