// SPDX-License-Identifier: Apache-2.0
// The device side of the Sanitizer patching API, declared from its public documentation, for toolkits without its
// headers (tests, and machines that only check that the patch compiles). Values are those of CUDA 12 and 13.
#pragma once

enum SanitizerPatchResult { SANITIZER_PATCH_SUCCESS = 0, SANITIZER_PATCH_ERROR = 1 };

enum Sanitizer_DeviceMemoryFlags {
  SANITIZER_MEMORY_DEVICE_FLAG_READ = 1,
  SANITIZER_MEMORY_DEVICE_FLAG_WRITE = 2,
  SANITIZER_MEMORY_DEVICE_FLAG_ATOMSYS = 4,
  SANITIZER_MEMORY_DEVICE_FLAG_PREFETCH = 8,
};
