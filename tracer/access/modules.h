// SPDX-License-Identifier: Apache-2.0
// Patches the modules of the program: which are loaded, where, and whether their code is patched now.
// Thread-safe: the API wants these calls one at a time.
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
  // The window of the profiler: patches everything that is loaded, or takes the patches away.
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
  std::map<CUcontext, bool> contexts_;  // whether they have the patches
  bool wanted_;
};

}  // namespace uvmtrace::access
