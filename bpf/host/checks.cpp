// SPDX-License-Identifier: Apache-2.0
// The functions that the compiler calls before each access of a policy to memory and for each index:
// -fsanitize=kernel-address with calls instead of shadow memory, and -fsanitize=bounds. Both compilers use these names.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bpf/host/session.h"

namespace {

using uvmsim::bpf::Session;

void check(std::uintptr_t address, std::size_t bytes, bool write) {
  Session::current().check(reinterpret_cast<const void*>(address), bytes, write);
}

struct SourcePlace {  // compiler-rt/lib/ubsan/ubsan_value.h
  const char* file;
  std::uint32_t line, column;
};

std::string_view last_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

#define UVMSIM_CHECK_ACCESS(bytes)                                                                         \
  extern "C" void __asan_load##bytes##_noabort(std::uintptr_t address) { check(address, bytes, false); }   \
  extern "C" void __asan_store##bytes##_noabort(std::uintptr_t address) { check(address, bytes, true); }

UVMSIM_CHECK_ACCESS(1)
UVMSIM_CHECK_ACCESS(2)
UVMSIM_CHECK_ACCESS(4)
UVMSIM_CHECK_ACCESS(8)
UVMSIM_CHECK_ACCESS(16)

extern "C" {

void __asan_loadN_noabort(std::uintptr_t address, std::size_t bytes) { check(address, bytes, false); }
void __asan_storeN_noabort(std::uintptr_t address, std::size_t bytes) { check(address, bytes, true); }
void __asan_handle_no_return() {}

// clang calls these when C code copies or fills memory.
void* __asan_memcpy(void* to, const void* from, std::size_t bytes) {
  check(reinterpret_cast<std::uintptr_t>(from), bytes, false);
  check(reinterpret_cast<std::uintptr_t>(to), bytes, true);
  return __builtin_memcpy(to, from, bytes);
}
void* __asan_memmove(void* to, const void* from, std::size_t bytes) {
  check(reinterpret_cast<std::uintptr_t>(from), bytes, false);
  check(reinterpret_cast<std::uintptr_t>(to), bytes, true);
  return __builtin_memmove(to, from, bytes);
}
void* __asan_memset(void* to, int byte, std::size_t bytes) {
  check(reinterpret_cast<std::uintptr_t>(to), bytes, true);
  return __builtin_memset(to, byte, bytes);
}

void __ubsan_handle_out_of_bounds_abort(const SourcePlace* place, std::uintptr_t index) {
  Session::current().refuse(fmt::format("has index {} outside of an array, in {}:{}",
                                        static_cast<std::int64_t>(index), last_name(place->file), place->line));
}

}  // extern "C"
