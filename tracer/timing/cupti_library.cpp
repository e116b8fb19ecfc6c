// SPDX-License-Identifier: Apache-2.0
#include "tracer/timing/cupti_library.h"

#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <mutex>

namespace uvmtrace {

namespace {

#if CUPTI_API_VERSION >= 130000
constexpr std::uint32_t kMajor = CUPTI_API_VERSION / 10000;
constexpr std::uint32_t kOldestVersion = kMajor * 10000;
#else
constexpr std::uint32_t kMajor = 12;
constexpr std::uint32_t kOldestVersion = 19;  // CUDA 12.0, the first with CUpti_ActivityKernel9
#endif

std::string load_now() {
  const std::string file = "libcupti.so." + std::to_string(kMajor);
  // Opened by its SONAME, so that a program that has its own copy (as PyTorch does) and this library share one.
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const error = ::dlerror();
    return "cannot load CUPTI: " + std::string(error == nullptr ? file : error);
  }
  CuptiLibrary& table = cupti();
  const char* missing = nullptr;
#define UVMTRACE_LOOK_UP(name)                                                  \
  table.name = reinterpret_cast<decltype(table.name)>(::dlsym(library, #name)); \
  if (table.name == nullptr) missing = #name;
  UVMTRACE_CUPTI_FUNCTIONS(UVMTRACE_LOOK_UP)
#undef UVMTRACE_LOOK_UP
  if (missing != nullptr) return file + " has no " + missing + "; a newer CUPTI is needed";
#ifdef CUPTI_SUBSCRIBER_NAME_MAX_LEN
  table.cuptiSubscribe_v2 = reinterpret_cast<decltype(table.cuptiSubscribe_v2)>(::dlsym(library, "cuptiSubscribe_v2"));
#endif
  std::uint32_t version = 0;
  if (table.cuptiGetVersion(&version) != CUPTI_SUCCESS || version < kOldestVersion) {
    return file + " has version " + std::to_string(version) + ", but " + std::to_string(kOldestVersion) +
           " is the oldest whose records can be read";
  }
  return {};
}

}  // namespace

std::string CuptiLibrary::load() {
  static std::once_flag once;
  static std::string& problem = *new std::string;
  std::call_once(once, [] { problem = load_now(); });
  return problem;
}

CuptiLibrary& cupti() {
  static CuptiLibrary table;
  return table;
}

std::string subscribe(CUpti_CallbackFunc callback, CUpti_SubscriberHandle& subscriber) {
  std::string holder;
  CUptiResult result = CUPTI_SUCCESS;
#ifdef CUPTI_SUBSCRIBER_NAME_MAX_LEN
  if (cupti().cuptiSubscribe_v2 != nullptr) {
    std::array<char, 256> name{};
    CUpti_SubscriberParams parameters{};
    parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    parameters.subscriberName = "uvmtrace";
    parameters.oldSubscriberName = name.data();
    parameters.oldSubscriberSize = name.size() - 1;
    result = cupti().cuptiSubscribe_v2(&subscriber, callback, nullptr, &parameters);
    holder = name.data();
  } else {
    result = cupti().cuptiSubscribe(&subscriber, callback, nullptr);
  }
#else
  result = cupti().cuptiSubscribe(&subscriber, callback, nullptr);
#endif
  if (result == CUPTI_SUCCESS) return {};
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    return "another profiler already uses CUPTI: " + (holder.empty() ? "it gives no name" : holder);
  }
  return "CUPTI cannot start (no supported GPU or driver?): " + describe(result);
}

std::string describe(CUptiResult result) {
  const char* name = nullptr;
  if (cupti().cuptiGetResultString(result, &name) != CUPTI_SUCCESS || name == nullptr) name = "CUPTI error";
  return std::string(name) + " (" + std::to_string(static_cast<int>(result)) + ')';
}

}  // namespace uvmtrace
