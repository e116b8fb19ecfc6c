// SPDX-License-Identifier: Apache-2.0
// The functions that the PyTorch helper and programs themselves may call. Both injection libraries export these
// functions; to find them, open the library named by CUDA_INJECTION64_PATH. They may be called from any thread, also
// before CUDA is initialised.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct uvmtrace_tensor {
  uint64_t va;
  uint64_t bytes;
  uint32_t mode;  // 1 read, 2 write, 3 both
};

// Addresses are those of the allocator, sizes those that the program requested; streams are CUDA's handles.
void uvmtrace_tensor_alloc(uint64_t va, uint64_t requested_bytes, uint64_t stream);
void uvmtrace_tensor_free(uint64_t va);
void uvmtrace_tensor_free_done(uint64_t va);
void uvmtrace_segment_alloc(uint64_t va, uint64_t bytes, uint64_t stream, uint32_t device);
void uvmtrace_segment_free(uint64_t va, uint64_t bytes);
void uvmtrace_range_push(const char* name);
void uvmtrace_range_pop(void);
void uvmtrace_iteration(uint64_t index, int begin);
void uvmtrace_operator_begin(const char* name, const struct uvmtrace_tensor* tensors, uint32_t count);
// Records the outputs of this thread's running operator. They are known only when it is done, so call this just before
// its end.
void uvmtrace_operator_outputs(const struct uvmtrace_tensor* tensors, uint32_t count);
void uvmtrace_operator_end(void);
// Writes everything recorded so far to the log.
void uvmtrace_flush(void);

#ifdef __cplusplus
}
#endif
