// SPDX-License-Identifier: Apache-2.0
// CUPTI's functions, looked up when the program starts CUDA: a machine without CUPTI, or with one that lacks a
// function, gets a clear line instead of a library that does not load.
#pragma once

#include <cupti.h>

#include <string>

namespace uvmtrace {

// clang-format off
#define UVMTRACE_CUPTI_FUNCTIONS(X) \
  X(cuptiGetVersion) X(cuptiGetResultString) X(cuptiSubscribe) X(cuptiUnsubscribe) X(cuptiEnableCallback) \
  X(cuptiEnableDomain) \
  X(cuptiActivitySetAttribute) X(cuptiActivityRegisterCallbacks) X(cuptiActivityEnable) X(cuptiActivityDisable) \
  X(cuptiActivityGetNextRecord) X(cuptiActivityGetNumDroppedRecords) X(cuptiActivityFlushAll) \
  X(cuptiActivityConfigureUnifiedMemoryCounter) X(cuptiGetDeviceId) X(cuptiGetContextId) X(cuptiGetGraphNodeId)
// clang-format on

struct CuptiLibrary {
#define UVMTRACE_DECLARE(name) decltype(&::name) name = nullptr;
  UVMTRACE_CUPTI_FUNCTIONS(UVMTRACE_DECLARE)
#undef UVMTRACE_DECLARE
#ifdef CUPTI_SUBSCRIBER_NAME_MAX_LEN
  // Null if the loaded library is too old (it came with a late CUPTI 12).
  decltype(&::cuptiSubscribe_v2) cuptiSubscribe_v2 = nullptr;
#endif

  // Loads it once; later calls return the same result. Empty on success, otherwise the error.
  static std::string load();
};

// Valid after CuptiLibrary::load() succeeded.
CuptiLibrary& cupti();

// Makes `callback` the process's only subscriber. Returns an empty string, or an error that names the tool that holds
// CUPTI.
std::string subscribe(CUpti_CallbackFunc callback, CUpti_SubscriberHandle& subscriber);

// Returns CUPTI's own name of a result, such as CUPTI_ERROR_NOT_SUPPORTED, with its number.
std::string describe(CUptiResult result);

}  // namespace uvmtrace
