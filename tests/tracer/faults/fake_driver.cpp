// SPDX-License-Identifier: Apache-2.0
// A program for machines without a driver that takes the place of two drivers: of the CUDA driver, which loads the
// recorder's library and calls it, and of the UVM driver, whose ioctls and files the functions below replace. Its
// argument selects the scenario:
//
//     faults N       N raw faults, each with a replay and a migration
//     drop N         the same, and N dropped
//     refuse         the driver refuses the queue at first
//     no-permission  /dev/nvidia-uvm-tools cannot be opened
//     killed         faults 100, and then the process is killed
//     exit N         the same as faults 1, with that exit code
//     sections       1 raw fault, then 2 and 3 in sections of their own
//     fork           the same in a child process, which exits separately
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/tracer/faults/entries.h"
#include "tracer/faults/event_ring.h"

namespace {

using uvmtrace::faults::Entry;
using uvmtrace::faults::RingControl;

struct Fake {
  std::string mode;
  int uvm_file = -1, refusals = 0;
  std::atomic<int> tools_file{-1};
  std::uint8_t* memory = nullptr;
  std::uint64_t entries = 0;
  RingControl* control = nullptr;
  std::atomic<std::uint64_t> enabled{0};
};
Fake& fake() {
  static Fake* const state = new Fake;
  return *state;
}

// The arguments of the two calls, with the driver's layout.
struct Init {
  std::uint64_t queue, entries, control;
  std::uint8_t processor[16];
  std::uint32_t all_processors, uvm_file, status, unused;
};
struct Enable {
  std::uint64_t types;
  std::uint32_t status, unused;
};

void write_entry(const Entry& entry) {
  Fake& driver = fake();
  if ((driver.enabled & (std::uint64_t{1} << entry[0])) == 0) return;
  const std::uint32_t put = driver.control->put_behind;
  std::memcpy(driver.memory + put * entry.size(), entry.data(), entry.size());
  std::atomic_thread_fence(std::memory_order_release);
  driver.control->put_behind = static_cast<std::uint32_t>((put + 1) % driver.entries);
}

void play(int count) {
  for (int i = 0; i < count; ++i) {
    const auto number = static_cast<std::uint32_t>(i);
    uvmtrace::faults::RawFault fault;
    fault.gpu_ns = 1000 + 32 * std::uint64_t{number};
    fault.address = 0x7f0000000000 + 4096 * std::uint64_t{number};
    fault.batch = number;
    fault.gpu = 1;
    fault.access = uvmtrace::faults::kAccessRead;
    fault.client_type = uvmtrace::faults::kClientGpc;
    write_entry(entry_of(fault));
    write_entry(entry_of(uvmtrace::faults::Replay{2000, 2000, number, 1}));
    write_entry(entry_of(uvmtrace::faults::Migration{1, 2, 3, 4, fault.address, 4096, 0, 1, 2}));
  }
}

}  // namespace

extern "C" {

int ioctl(int file, unsigned long request, ...) noexcept {
  va_list rest;
  va_start(rest, request);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  Fake& driver = fake();
  if (file == driver.tools_file && request == 76) {
    Init& init = *static_cast<Init*>(argument);
    init.status = driver.refusals-- > 0 ? 0x1f : 0;
    if (init.status != 0 || static_cast<int>(init.uvm_file) != driver.uvm_file) return 0;
    driver.memory = reinterpret_cast<std::uint8_t*>(init.queue);
    driver.entries = init.entries;
    driver.control = reinterpret_cast<RingControl*>(init.control);
    return 0;
  }
  if (file == driver.tools_file && request == 58) {
    driver.enabled = static_cast<Enable*>(argument)->types;
    return 0;
  }
  if (file == driver.uvm_file && request == 67) return 0;
  return static_cast<int>(syscall(SYS_ioctl, file, request, argument));
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(rest, int) : 0;
  va_end(rest);
  if (std::strcmp(path, "/dev/nvidia-uvm-tools") == 0) {
    if (fake().mode == "no-permission") {
      errno = EACCES;
      return -1;
    }
    return fake().tools_file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0));
  }
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

ssize_t readlink(const char* path, char* buffer, size_t bytes) {
  if (fake().uvm_file >= 0 && path == "/proc/self/fd/" + std::to_string(fake().uvm_file)) {
    constexpr char kTarget[] = "/dev/nvidia-uvm";
    const std::size_t length = std::min(bytes, sizeof kTarget - 1);
    std::memcpy(buffer, kTarget, length);
    return static_cast<ssize_t>(length);
  }
  return syscall(SYS_readlinkat, AT_FDCWD, path, buffer, bytes);
}

}  // extern "C"

int main(int count, char** arguments) {
  Fake& driver = fake();
  driver.mode = count > 1 ? arguments[1] : "";
  const int number = count > 2 ? std::atoi(arguments[2]) : 1;
  if (driver.mode == "refuse") driver.refusals = 5;
  driver.uvm_file = open("/dev/zero", O_RDONLY);
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "fake_driver: %s\n", path == nullptr ? "no library" : dlerror());
    return 99;
  }
  reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))();
  for (int i = 0; i < 2000 && driver.enabled == 0; ++i) usleep(1000);
  std::printf("program runs\n");
  std::fflush(stdout);
  if (driver.enabled != 0) {
    const bool by_number = driver.mode == "faults" || driver.mode == "drop";
    play(by_number ? number : driver.mode == "killed" ? 100 : 1);
    if (driver.mode == "sections") {
      const auto section = reinterpret_cast<void (*)(const char*)>(dlsym(library, "uvmtrace_faults_section"));
      section("two");
      play(2);
      section("three");
      play(3);
      section("between");
    }
    if (driver.mode == "drop") driver.control->dropped[3] = 17;
    if (driver.mode == "fork" && fork() == 0) std::exit(0);
    if (driver.mode == "fork") wait(nullptr);
    if (driver.mode == "killed") {
      usleep(1200000);  // longer than a thread holds back its events
      raise(SIGKILL);
    }
  }
  return driver.mode == "exit" ? number : 0;
}
