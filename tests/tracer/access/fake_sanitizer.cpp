// SPDX-License-Identifier: Apache-2.0
#include "tests/tracer/access/fake_sanitizer.h"

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace {
// FAKE_SANITIZER_FAIL names the function that fails.
bool fails(std::string_view name) {
  const char* const wanted = std::getenv("FAKE_SANITIZER_FAIL");
  return wanted != nullptr && name == wanted;
}
thread_local const void* launch_data = nullptr;

SanitizerResult give(void** out, std::size_t bytes) {
  FakeSanitizer& fake = *fake_sanitizer();
  if (fake.allocations_left == 0) return SANITIZER_ERROR_OUT_OF_MEMORY;
  if (fake.allocations_left > 0) --fake.allocations_left;
  *out = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*out, 0xa5, bytes);
  return SANITIZER_SUCCESS;
}
}  // namespace

extern "C" {

FakeSanitizer* fake_sanitizer() {
  static FakeSanitizer fake;
  return &fake;
}

const void* fake_take_launch_data() { return std::exchange(launch_data, nullptr); }

SanitizerResult sanitizerSubscribe(Sanitizer_SubscriberHandle*, Sanitizer_CallbackFunc callback, void* userdata) {
  if (fails("subscribe")) return SANITIZER_ERROR_MAX_LIMIT_REACHED;
  fake_sanitizer()->callback = callback;
  fake_sanitizer()->userdata = userdata;
  return SANITIZER_SUCCESS;
}
SanitizerResult sanitizerUnsubscribe(Sanitizer_SubscriberHandle) { return SANITIZER_SUCCESS; }
SanitizerResult sanitizerEnableDomain(std::uint32_t, Sanitizer_SubscriberHandle, Sanitizer_CallbackDomain) {
  return SANITIZER_SUCCESS;
}
SanitizerResult sanitizerEnableCallback(std::uint32_t, Sanitizer_SubscriberHandle, Sanitizer_CallbackDomain,
                                        Sanitizer_CallbackId) {
  ++fake_sanitizer()->calls_enabled;
  return SANITIZER_SUCCESS;
}
SanitizerResult sanitizerGetResultString(SanitizerResult result, const char** text) {
  *text = result == SANITIZER_ERROR_NOT_SUPPORTED ? "Device not supported" : "a refusal";
  return SANITIZER_SUCCESS;
}
SanitizerResult sanitizerAddPatches(const void*, CUcontext) {
  return fails("patches") ? SANITIZER_ERROR_NOT_SUPPORTED : SANITIZER_SUCCESS;
}
SanitizerResult sanitizerPatchInstructions(Sanitizer_InstructionId, CUmodule, const char*) { return SANITIZER_SUCCESS; }
SanitizerResult sanitizerPatchModule(CUmodule) {
  ++fake_sanitizer()->patched_modules;
  return SANITIZER_SUCCESS;
}
SanitizerResult sanitizerUnpatchModule(CUmodule) {
  --fake_sanitizer()->patched_modules;
  return SANITIZER_SUCCESS;
}
SanitizerResult sanitizerSetLaunchCallbackData(Sanitizer_LaunchHandle, CUfunction, Sanitizer_StreamHandle,
                                               const void* data) {
  launch_data = data;
  return SANITIZER_SUCCESS;
}
SanitizerResult sanitizerAlloc(CUcontext, void** out, std::size_t bytes) { return give(out, bytes); }
SanitizerResult sanitizerFree(CUcontext, void* address) {
  std::free(address);
  return SANITIZER_SUCCESS;
}
SanitizerResult sanitizerAllocHost(CUcontext, void** out, std::size_t bytes) { return give(out, bytes); }
SanitizerResult sanitizerFreeHost(CUcontext, void* address) {
  std::free(address);
  return SANITIZER_SUCCESS;
}
SanitizerResult sanitizerMemcpyHostToDeviceAsync(void* dst, void* src, std::size_t bytes, Sanitizer_StreamHandle) {
  std::memcpy(dst, src, bytes);
  return SANITIZER_SUCCESS;
}
SanitizerResult sanitizerMemcpyDeviceToHost(void* dst, void* src, std::size_t bytes, Sanitizer_StreamHandle) {
  std::memcpy(dst, src, bytes);
  fake_sanitizer()->bytes_read_back += bytes;
  return SANITIZER_SUCCESS;
}
SanitizerResult sanitizerMemset(void* address, int value, std::size_t bytes, Sanitizer_StreamHandle) {
  std::memset(address, value, bytes);
  return SANITIZER_SUCCESS;
}
SanitizerResult sanitizerStreamSynchronize(Sanitizer_StreamHandle) {
  return fails("synchronize") ? SANITIZER_ERROR_INVALID_PARAMETER : SANITIZER_SUCCESS;
}

}  // extern "C"
