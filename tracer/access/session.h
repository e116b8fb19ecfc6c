// SPDX-License-Identifier: Apache-2.0
// The access pass in one process: subscribes to the Sanitizer API and passes its callbacks on.
#pragma once

#include <sanitizer.h>

#include <mutex>
#include <string>

#include "tracer/access/allocations.h"
#include "tracer/access/launches.h"
#include "tracer/access/modules.h"
#include "tracer/access/options.h"

namespace uvmtrace::access {

class Session {
 public:
  // Starts recording. If that is impossible, prints the reason on standard error. Idempotent. Call before the program's
  // first CUDA call.
  static void start();

 private:
  explicit Session(const Options& options)
      : options_(options), modules_(options.window), launches_(options, allocations_, modules_) {}

  // Returns an empty text on success, otherwise the error.
  std::string subscribe();
  static void SANITIZERAPI on_callback(void* self, Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id,
                                       const void* data) noexcept;
  void dispatch(Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id, const void* data);
  void on_driver_api(Sanitizer_CallbackId id, const Sanitizer_CallbackData& data);
  void on_resource(Sanitizer_CallbackId id, const void* data);
  void on_graph(Sanitizer_CallbackId id, const void* data);
  void on_unasked_memory(const Sanitizer_ResourceMemoryData& memory);
  void on_memory_gone(const Sanitizer_ResourceMemoryData& memory);
  void write_header(int device);

  const Options options_;
  Allocations allocations_;
  Modules modules_;
  Launches launches_;
  Sanitizer_SubscriberHandle subscriber_ = nullptr;
  std::once_flag header_;
};

}  // namespace uvmtrace::access
