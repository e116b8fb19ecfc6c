// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/modules.h"

#include <string>

#include "tracer/access/patch_image.h"
#include "tracer/access/sanitizer_api.h"
#include "tracer/log/event_log.h"

namespace uvmtrace::access {

namespace {

// Numbers of Sanitizer_InstructionId, which older headers do not all have.
struct Patch {
  int instruction;
  const char* function;  // in patch.cu
  bool required;
};
constexpr Patch kPatches[] = {
    {3, "uvmtrace_memory_access", true},    // GLOBAL_MEMORY_ACCESS
    {14, "uvmtrace_memcpy_async", true},    // MEMCPY_ASYNC: cp.async
    {30, "uvmtrace_bulk_load", false},      // BULK_COPY_GLOBAL_TO_SHARED
    {35, "uvmtrace_bulk_store", false},     // BULK_COPY_SHARED_TO_GLOBAL
    {37, "uvmtrace_bulk_reduce", false},    // BULK_REDUCTION_SHARED_TO_GLOBAL
    {11, "uvmtrace_device_malloc", false},  // DEVICE_SIDE_MALLOC
};

}  // namespace

bool Modules::add_patches(CUcontext context) {
  const auto [place, is_new] = contexts_.try_emplace(context, false);
  if (!is_new) return place->second;
  const OwnCall own;
  const SanitizerResult result = sanitizer().sanitizerAddPatches(patch_image(), context);
  place->second = result == SANITIZER_SUCCESS;
  if (!place->second) {
    EventLog::instance().warn("this GPU's kernels cannot be patched: " + describe(result) +
                              "; the program runs on, its accesses are not recorded");
  }
  return place->second;
}

void Modules::patch(CUmodule handle, Module& module) {
  if (module.patched || !add_patches(module.context)) return;
  const OwnCall own;
  for (const Patch& patch : kPatches) {
    const auto id = static_cast<Sanitizer_InstructionId>(patch.instruction);
    const SanitizerResult result = sanitizer().sanitizerPatchInstructions(id, handle, patch.function);
    if (result != SANITIZER_SUCCESS && patch.required) {
      EventLog::instance().warn(std::string("a module cannot be patched: ") + patch.function + ": " + describe(result));
      return;
    }
  }
  const SanitizerResult result = sanitizer().sanitizerPatchModule(handle);
  module.patched = result == SANITIZER_SUCCESS;
  if (!module.patched) EventLog::instance().warn("a module cannot be patched: " + describe(result));
}

void Modules::loaded(CUcontext context, CUmodule module) {
  const std::lock_guard lock(mutex_);
  Module& entry = modules_[module];
  entry = {context, false};
  if (wanted_) patch(module, entry);
}

void Modules::unloaded(CUmodule module) {
  const std::lock_guard lock(mutex_);
  modules_.erase(module);
}

void Modules::context_gone(CUcontext context) {
  const std::lock_guard lock(mutex_);
  contexts_.erase(context);
  std::erase_if(modules_, [&](const auto& item) { return item.second.context == context; });
}

void Modules::open_window() {
  const std::lock_guard lock(mutex_);
  if (wanted_) return;
  wanted_ = true;
  for (auto& [handle, module] : modules_) patch(handle, module);
}

void Modules::close_window() {
  const std::lock_guard lock(mutex_);
  if (!wanted_) return;
  wanted_ = false;
  const OwnCall own;
  for (auto& [handle, module] : modules_) {
    if (module.patched) (void)sanitizer().sanitizerUnpatchModule(handle);
    module.patched = false;
  }
}

bool Modules::patched(CUmodule module) const {
  const std::lock_guard lock(mutex_);
  const auto place = modules_.find(module);
  return place != modules_.end() && place->second.patched;
}

}  // namespace uvmtrace::access
