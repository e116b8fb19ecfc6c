// SPDX-License-Identifier: Apache-2.0
// Loads the injection library as the driver does, after libcuda.so.1. Usage: load_injection LIBRARY
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2 || ::dlopen("libcuda.so.1", RTLD_LAZY) == nullptr) return 77;
  void* const library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 1;
  }
  const auto initialize = reinterpret_cast<int (*)()>(::dlsym(library, "InitializeInjection"));
  return initialize != nullptr && initialize() == 1 ? 0 : 2;
}
