// SPDX-License-Identifier: Apache-2.0
#include "fake_cupti.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace fake {

namespace {
CUptiResult result_from(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? CUPTI_SUCCESS : static_cast<CUptiResult>(std::atoi(text));
}

// Returns the size of a record as CUPTI 13 emits it.
std::size_t record_bytes(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
      return sizeof(CUpti_ActivityUnifiedMemoryCounter3);
    default:
      std::abort();
  }
}
}  // namespace

Cupti& cupti() {
  static Cupti* const state = new Cupti;
  return *state;
}

void Cupti::call(CUpti_CallbackDomain domain, std::uint32_t id, const void* data) const {
  if (callback != nullptr && (domains.count(domain) != 0 || enabled.count({domain, id}) != 0)) {
    callback(user, domain, id, data);
  }
}

}  // namespace fake

using fake::cupti;
using fake::result_from;

extern "C" {

CUptiResult cuptiGetVersion(uint32_t* version) {
  const char* const text = std::getenv("FAKE_CUPTI_VERSION");
  *version = text == nullptr ? CUPTI_API_VERSION : static_cast<uint32_t>(std::atoi(text));
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  *text =
      result == CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED ? "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED" : "CUPTI_ERROR_FAKE";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* user,
                              CUpti_SubscriberParams* parameters) {
  const char* const holder = std::getenv("FAKE_CUPTI_HOLDER");
  if (holder != nullptr) {
    std::strncpy(parameters->oldSubscriberName, holder, parameters->oldSubscriberSize);
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  cupti().callback = callback;
  cupti().user = user;
  *handle = reinterpret_cast<CUpti_SubscriberHandle>(&cupti());
  return result_from("FAKE_CUPTI_SUBSCRIBE");
}
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*) { return CUPTI_ERROR_UNKNOWN; }
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  cupti().callback = nullptr;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
  if (enable != 0) cupti().enabled.insert({domain, id});
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain) {
  if (enable != 0) cupti().domains.insert(domain);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, size_t*, void*) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  cupti().request = request;
  cupti().complete = complete;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  const CUptiResult result = result_from("FAKE_CUPTI_ENABLE");
  const std::lock_guard lock(cupti().mutex);
  if (result == CUPTI_SUCCESS) cupti().kinds.insert(kind);
  return result;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind) { return CUPTI_SUCCESS; }

CUptiResult cuptiActivityConfigureUnifiedMemoryCounter(CUpti_ActivityUnifiedMemoryCounterConfig*, uint32_t) {
  return cupti().context_exists ? result_from("FAKE_CUPTI_UVM") : CUPTI_ERROR_NOT_READY;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  uint8_t* next = buffer;
  if (*record != nullptr) next = reinterpret_cast<uint8_t*>(*record) + fake::record_bytes(**record);
  if (next >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  const char* const text = std::getenv("FAKE_CUPTI_DROPPED");
  const std::lock_guard lock(cupti().mutex);
  *dropped = text == nullptr || cupti().dropped_told ? 0 : static_cast<size_t>(std::atoi(text));
  cupti().dropped_told = true;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t) {
  std::vector<std::vector<uint8_t>> records;
  {
    const std::lock_guard lock(cupti().mutex);
    records.swap(cupti().records);
  }
  while (!records.empty()) {
    uint8_t* buffer = nullptr;
    size_t bytes = 0;
    size_t most = 0;
    cupti().request(&buffer, &bytes, &most);
    if (buffer == nullptr) return CUPTI_SUCCESS;
    if (!std::all_of(buffer, buffer + bytes, [](uint8_t byte) { return byte == 0; })) std::abort();
    size_t used = 0;
    while (!records.empty() && used + records.front().size() <= bytes) {
      std::memcpy(buffer + used, records.front().data(), records.front().size());
      used += records.front().size();
      records.erase(records.begin());
    }
    cupti().complete(nullptr, 0, buffer, bytes, used);
  }
  return CUPTI_SUCCESS;
}

// The fake's context handles are (device << 8 | number).
CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* device) {
  *device = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(context) >> 8);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetContextId(CUcontext context, uint32_t* id) {
  *id = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(context) & 255);
  return CUPTI_SUCCESS;
}
// A node's handle is its number.
CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) {
  *id = reinterpret_cast<uintptr_t>(node);
  return CUPTI_SUCCESS;
}

}  // extern "C"
