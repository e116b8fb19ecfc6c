// SPDX-License-Identifier: Apache-2.0
// Plays a program's CUDA calls to the injection library, through the fake Sanitizer API.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tests/tracer/access/fake_sanitizer.h"
#include "tests/tracer/access/host_machine.h"
#include "tracer/access/driver_params.h"
#include "tracer/access/layout.h"

namespace uvmtrace::access {

class Player {
 public:
  // Loads the injection library (the environment says where it looks for the API) and starts it.
  explicit Player(const char* injection_library);

  bool recording() const { return fake_ != nullptr && fake_->callback != nullptr; }
  FakeSanitizer& fake() { return *fake_; }

  void create_context();
  void load_module(std::uint64_t module);
  // Plays one driver call: entry, `inside`, exit with `result`.
  void call(std::uint32_t number, const void* parameters, const std::function<void()>& inside = {},
            CUresult result = CUDA_SUCCESS);
  void allocate(std::uint64_t va, std::uint64_t bytes, CUresult result = CUDA_SUCCESS);
  void free(std::uint64_t va);
  // Reports memory as the driver itself does.
  void device_memory(std::uint64_t va, std::uint64_t bytes, std::uint32_t flags, bool gone = false);

  using Kernel = std::function<void(Marks*)>;
  static void mark_range(Marks* marks, std::uint64_t va, std::uint64_t bytes, std::uint32_t mode,
                         std::uint64_t block = 0);
  void launch(const std::string& name, std::uint64_t module, std::uint64_t stream, std::uint32_t blocks,
              const Kernel& kernel);
  // Launches a graph of two kernels; both kernels run after both were announced.
  void graph(std::uint64_t module, const Kernel& first, const Kernel& second);

 private:
  void callback(Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id, const void* data);
  static Sanitizer_LaunchData launch_data(const char* name, std::uint64_t module, std::uint64_t stream,
                                          std::uint32_t blocks);
  // Returns the data that the pass gave to the last launch of this thread.
  Marks* take_marks() { return static_cast<Marks*>(const_cast<void*>(take_launch_data_())); }

  FakeSanitizer* fake_ = nullptr;
  const void* (*take_launch_data_)() = nullptr;
};

}  // namespace uvmtrace::access
