// SPDX-License-Identifier: Apache-2.0
// The Compute Sanitizer API's functions, looked up when the program starts CUDA. The library belongs to NVIDIA and
// comes with the CUDA toolkit; a machine without it gets one clear line instead of a program that does not start.
#pragma once

#include <sanitizer.h>

#include <string>

namespace uvmtrace::access {

// clang-format off
#define UVMTRACE_SANITIZER_FUNCTIONS(X) \
  X(sanitizerSubscribe) X(sanitizerUnsubscribe) X(sanitizerEnableDomain) X(sanitizerEnableCallback) \
  X(sanitizerGetResultString) X(sanitizerAddPatches) X(sanitizerPatchInstructions) X(sanitizerPatchModule) \
  X(sanitizerUnpatchModule) X(sanitizerSetLaunchCallbackData) X(sanitizerAlloc) X(sanitizerFree) \
  X(sanitizerAllocHost) X(sanitizerFreeHost) X(sanitizerMemcpyHostToDeviceAsync) X(sanitizerMemcpyDeviceToHost) \
  X(sanitizerMemset) X(sanitizerStreamSynchronize)
// clang-format on

struct SanitizerApi {
#define UVMTRACE_DECLARE(name) decltype(&::name) name = nullptr;
  UVMTRACE_SANITIZER_FUNCTIONS(UVMTRACE_DECLARE)
#undef UVMTRACE_DECLARE

  // Opens $UVMTRACE_SANITIZER_LIBRARY, else the library of the toolkit used for the build, else the one that the
  // dynamic linker finds. Returns an empty text on success, otherwise the error.
  std::string load();
};

// Valid after load() succeeded.
SanitizerApi& sanitizer();

// Returns the API's own message for a result, with its number.
std::string describe(SanitizerResult result);

// Returns whether a call succeeded; if not, `why` names the action and the API's message.
bool succeeded(SanitizerResult result, const char* what, std::string& why);

// Set while this thread is inside a function of the API: allocations that the API then reports are ours, not the
// program's.
class OwnCall {
 public:
  OwnCall() { ++depth(); }
  ~OwnCall() { --depth(); }
  OwnCall(const OwnCall&) = delete;
  OwnCall& operator=(const OwnCall&) = delete;
  static bool active() { return depth() != 0; }

 private:
  static int& depth() {
    thread_local int value = 0;
    return value;
  }
};

}  // namespace uvmtrace::access
