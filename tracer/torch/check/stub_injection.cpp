// SPDX-License-Identifier: Apache-2.0
// Replaces an injection library: exports the same functions and writes each call as a line of JSON, in the words of
// tracer/log/README.md, to $UVMTRACE_LOG_DIR/stub.jsonl. For checks of the PyTorch helper without the tracer.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "tracer/log/c_api.h"

namespace {

std::mutex mutex;

void write(const char* format, ...) {
  const std::lock_guard<std::mutex> lock(mutex);
  static std::FILE* const file = [] {
    const char* folder = std::getenv("UVMTRACE_LOG_DIR");
    return std::fopen((std::string(folder == nullptr ? "." : folder) + "/stub.jsonl").c_str(), "a");
  }();
  if (file == nullptr) return;
  std::fprintf(file, "{\"tid\":%ld,", syscall(SYS_gettid));
  std::va_list arguments;
  va_start(arguments, format);
  std::vfprintf(file, format, arguments);
  va_end(arguments);
  std::fputs("}\n", file);
}

std::string list_of(const uvmtrace_tensor* tensors, uint32_t count) {
  std::string list = "[";
  for (uint32_t i = 0; i < count; ++i) {
    list += (i == 0 ? "[" : ",[") + std::to_string(tensors[i].va) + "," + std::to_string(tensors[i].bytes) + "," +
            std::to_string(tensors[i].mode) + "]";
  }
  return list + "]";
}

}  // namespace

extern "C" {

int InitializeInjection() {
  write("\"t\":\"injected\"");
  return 1;
}

void uvmtrace_tensor_alloc(uint64_t va, uint64_t bytes, uint64_t stream) {
  write("\"t\":\"tensor_alloc\",\"va\":%lu,\"bytes\":%lu,\"stream\":%lu", va, bytes, stream);
}
void uvmtrace_tensor_free(uint64_t va) { write("\"t\":\"tensor_free\",\"va\":%lu", va); }
void uvmtrace_tensor_free_done(uint64_t va) { write("\"t\":\"tensor_free_done\",\"va\":%lu", va); }
void uvmtrace_segment_alloc(uint64_t va, uint64_t bytes, uint64_t stream, uint32_t device) {
  write("\"t\":\"segment_alloc\",\"va\":%lu,\"bytes\":%lu,\"stream\":%lu,\"device\":%u", va, bytes, stream, device);
}
void uvmtrace_segment_free(uint64_t va, uint64_t bytes) {
  write("\"t\":\"segment_free\",\"va\":%lu,\"bytes\":%lu", va, bytes);
}
void uvmtrace_range_push(const char* name) { write("\"t\":\"push\",\"name\":\"%s\"", name); }
void uvmtrace_range_pop() { write("\"t\":\"pop\""); }
void uvmtrace_iteration(uint64_t index, int begin) {
  write("\"t\":\"iteration\",\"index\":%lu,\"begin\":%s", index, begin != 0 ? "true" : "false");
}
void uvmtrace_operator_begin(const char* name, const uvmtrace_tensor* tensors, uint32_t count) {
  write("\"t\":\"operator\",\"name\":\"%s\",\"tensors\":%s", name, list_of(tensors, count).c_str());
}
void uvmtrace_operator_outputs(const uvmtrace_tensor* tensors, uint32_t count) {
  write("\"t\":\"operator_outputs\",\"tensors\":%s", list_of(tensors, count).c_str());
}
void uvmtrace_operator_end() { write("\"t\":\"operator_end\""); }
void uvmtrace_flush() {
  write("\"t\":\"flush\"");
  const std::lock_guard<std::mutex> lock(mutex);
  std::fflush(nullptr);
}

}  // extern "C"
