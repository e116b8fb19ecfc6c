// SPDX-License-Identifier: Apache-2.0
// A Sanitizer API without a GPU: device memory is the host's memory, and the player calls the marking code in place of
// kernels.
#pragma once

#include <sanitizer.h>

#include <cstdint>

struct FakeSanitizer {
  Sanitizer_CallbackFunc callback = nullptr;
  void* userdata = nullptr;
  std::uint64_t patched_modules = 0;  // number of modules that are patched now
  std::uint64_t bytes_read_back = 0;
  std::uint64_t calls_enabled = 0;
  std::int64_t allocations_left = -1;  // allocations until memory runs out; negative: unlimited
};

extern "C" FakeSanitizer* fake_sanitizer();
// Returns the data of this thread's last sanitizerSetLaunchCallbackData; null after it was taken once.
extern "C" const void* fake_take_launch_data();
