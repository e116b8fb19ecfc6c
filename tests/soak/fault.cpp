// SPDX-License-Identifier: Apache-2.0
// A library to preload: makes one call of a program fail, to see what it leaves behind.
//
//   UVMSIM_FAULT=disk:N     from the N-th change of a file on, the disk is full: ENOSPC
//   UVMSIM_FAULT=kill:N     the process is killed (SIGKILL) before the N-th change of a file
//   UVMSIM_FAULT=half:N     the same, after half of the N-th change if that is a write
//   UVMSIM_FAULT=memory:N   the N-th allocation after main() has begun fails
//   UVMSIM_FAULT_COUNTS=F   at the end of main(), "changes allocations" in two numbers are written to F
//
// Changes of a file are write(), pwrite(), ftruncate() and fsync() of regular files, rename() and open() of a new file.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}

namespace {

enum class Fault { kNone, kDisk, kKill, kHalf, kMemory };
Fault fault = Fault::kNone;
std::uint64_t at = 0;
std::atomic<bool> started = false;  // main() runs
std::atomic<std::uint64_t> changes = 0, allocations = 0;

void read_fault() {
  const char* text = std::getenv("UVMSIM_FAULT");
  if (text == nullptr) return;
  const char* number = std::strchr(text, ':');
  if (number == nullptr) ::_exit(99);
  at = std::strtoull(number + 1, nullptr, 10);
  const auto is = [&](const char* name) { return std::strncmp(text, name, std::strlen(name)) == 0; };
  fault = is("disk:") ? Fault::kDisk : is("kill:") ? Fault::kKill : is("half:") ? Fault::kHalf : Fault::kMemory;
}

bool is_regular(int descriptor) {
  struct stat file {};
  return ::fstat(descriptor, &file) == 0 && S_ISREG(file.st_mode);
}

enum class Now { kGo, kFull, kHalf };

Now change() {
  if (!started) return Now::kGo;
  const std::uint64_t number = ++changes;
  if (fault == Fault::kKill && number == at) ::raise(SIGKILL);
  if (fault == Fault::kHalf && number == at) return Now::kHalf;
  return fault == Fault::kDisk && number >= at ? Now::kFull : Now::kGo;
}

bool no_memory() { return started && ++allocations == at && fault == Fault::kMemory; }

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

int full() {
  errno = ENOSPC;
  return -1;
}

// `write` does the call with so many of its bytes.
template <class Write>
ssize_t write_some(int descriptor, std::size_t bytes, Write&& write) {
  if (!is_regular(descriptor)) return write(bytes);
  switch (change()) {
    case Now::kFull:
      return full();
    case Now::kHalf:
      write(bytes / 2);
      ::raise(SIGKILL);
      return -1;
    default:
      return write(bytes);
  }
}

// Makes any other change of a file.
template <class Call>
int call(Call&& run) {
  const Now now = change();
  if (now == Now::kFull) return full();
  const int result = run();
  if (now == Now::kHalf) ::raise(SIGKILL);
  return result;
}

int (*real_main)(int, char**, char**) = nullptr;

int counted_main(int count, char** arguments, char** environment) {
  read_fault();
  started = true;
  const int code = real_main(count, arguments, environment);
  started = false;
  if (const char* path = std::getenv("UVMSIM_FAULT_COUNTS")) {
    if (std::FILE* file = std::fopen(path, "w")) {
      std::fprintf(file, "%llu %llu\n", static_cast<unsigned long long>(changes.load()),
                   static_cast<unsigned long long>(allocations.load()));
      std::fclose(file);
    }
  }
  return code;
}

int open_file(const char* name, const char* path, int flags, mode_t mode) {
  const auto real = next<int (*)(const char*, int, ...)>(name);
  if ((flags & O_CREAT) == 0 || ::access(path, F_OK) == 0) return real(path, flags, mode);
  return call([&] { return real(path, flags, mode); });
}

mode_t mode_of(int flags, va_list rest) { return (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0; }

}  // namespace

extern "C" {

int __libc_start_main(int (*program)(int, char**, char**), int count, char** arguments, void (*init)(), void (*fini)(),
                      void (*rtld_fini)(), void* stack_end) {
  real_main = program;
  const auto real = next<decltype(&__libc_start_main)>("__libc_start_main");
  return real(counted_main, count, arguments, init, fini, rtld_fini, stack_end);
}

ssize_t write(int descriptor, const void* bytes, std::size_t count) {
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t)>("write");
  return write_some(descriptor, count, [&](std::size_t some) { return real(descriptor, bytes, some); });
}
ssize_t pwrite(int descriptor, const void* bytes, std::size_t count, off_t offset) {
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t, off_t)>("pwrite64");
  return write_some(descriptor, count, [&](std::size_t some) { return real(descriptor, bytes, some, offset); });
}
ssize_t pwrite64(int descriptor, const void* bytes, std::size_t count, off64_t offset) {
  return pwrite(descriptor, bytes, count, offset);
}
int ftruncate(int descriptor, off_t length) noexcept {
  static const auto real = next<int (*)(int, off_t)>("ftruncate64");
  return call([&] { return real(descriptor, length); });
}
int ftruncate64(int descriptor, off64_t length) noexcept { return ftruncate(descriptor, length); }
int fsync(int descriptor) {
  static const auto real = next<int (*)(int)>("fsync");
  return call([&] { return real(descriptor); });
}
int fdatasync(int descriptor) {
  static const auto real = next<int (*)(int)>("fdatasync");
  return call([&] { return real(descriptor); });
}
int rename(const char* from, const char* to) noexcept {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  return call([&] { return real(from, to); });
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_file("open", path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  return open_file("open64", path, flags, mode);
}

void* malloc(std::size_t bytes) noexcept {
  if (!no_memory()) return __libc_malloc(bytes);
  errno = ENOMEM;
  return nullptr;
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  if (!no_memory()) return __libc_calloc(count, bytes);
  errno = ENOMEM;
  return nullptr;
}
void* realloc(void* old, std::size_t bytes) noexcept {
  if (!no_memory()) return __libc_realloc(old, bytes);
  errno = ENOMEM;
  return nullptr;
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  if (!no_memory()) return __libc_memalign(alignment, bytes);
  errno = ENOMEM;
  return nullptr;
}

}  // extern "C"
