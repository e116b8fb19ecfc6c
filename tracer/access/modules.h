// SPDX-License-Identifier: Apache-2.0
// Patches the modules of the program: which are loaded, in which context, and whether their code is patched now.
// Thread-safe: the API requires these calls one at a time.
#pragma once

#include <cuda.h>

#include <map>
#include <mutex>

namespace uvmtrace::access {

class Modules {
 public:
  explicit Modules(bool window) : wanted_(!window) {}

  void loaded(CUcontext context, CUmodule module);
  void unloaded(CUmodule module);
  void context_gone(CUcontext context);
  // The window of the profiler: open_window() patches everything that is loaded, close_window() removes the patches.
  void open_window();
  void close_window();
  // Returns whether the module's code calls the patches.
  bool patched(CUmodule module) const;

 private:
  struct Module {
    CUcontext context = nullptr;
    bool patched = false;
  };

  bool add_patches(CUcontext context);
  void patch(CUmodule handle, Module& module);

  mutable std::mutex mutex_;
  std::map<CUmodule, Module> modules_;
  std::map<CUcontext, bool> contexts_;  // by context: whether its modules are patched
  bool wanted_;
};

}  // namespace uvmtrace::access
