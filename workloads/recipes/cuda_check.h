// SPDX-License-Identifier: Apache-2.0
// Every CUDA call of these programs is checked: a failure is one line and exit status 1.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(call)                                                                   \
  do {                                                                                     \
    const cudaError_t status = (call);                                                     \
    if (status != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      std::exit(1);                                                                        \
    }                                                                                      \
  } while (false)

// A positive number from the command line, or the default when it is not there.
inline unsigned long argument_or(int argc, char** argv, int index, unsigned long value) {
  if (index >= argc) return value;
  char* end = nullptr;
  const unsigned long given = std::strtoul(argv[index], &end, 10);
  if (end == argv[index] || *end != '\0' || given == 0) {
    std::fprintf(stderr, "argument %d is '%s'; allowed: a positive number\n", index, argv[index]);
    std::exit(1);
  }
  return given;
}

template <typename T>
T* device_array(std::size_t count) {
  T* array = nullptr;
  CUDA_CHECK(cudaMalloc(&array, count * sizeof(T)));
  return array;
}
