// SPDX-License-Identifier: Apache-2.0
#include "tracer/faults/driver_queue.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace uvmtrace::faults {

namespace {

constexpr std::uint32_t kEntries = 1u << 20;
constexpr std::size_t kControlBytes = 4096;
constexpr unsigned long kInitEventTracker = 76, kEnableEvents = 58, kFlushEvents = 67;

struct InitEventTracker {
  std::uint64_t queue = 0, entries = 0, control = 0;
  std::uint8_t processor[16] = {};
  std::uint32_t all_processors = 1, uvm_file = 0, status = 0, unused = 0;
};
struct EnableEvents {
  std::uint64_t types = 0;
  std::uint32_t status = 0, unused = 0;
};

void* map(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

DriverQueue::~DriverQueue() {
  if (tools_ >= 0) close(tools_);
  if (entries_ != nullptr) munmap(entries_, kEntries * kEntryBytes);
  if (control_ != nullptr) munmap(control_, kControlBytes);
}

std::string DriverQueue::start(Events events) {
  try_again_ = false;
  if (entries_ == nullptr) entries_ = static_cast<std::uint8_t*>(map(kEntries * kEntryBytes));
  if (control_ == nullptr) control_ = static_cast<RingControl*>(map(kControlBytes));
  if (entries_ == nullptr || control_ == nullptr) return "the driver's queue: out of memory";
  std::string reason = "the driver's queue: this process has no CUDA context";
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    if (std::filesystem::read_symlink(entry.path(), ignored) != "/dev/nvidia-uvm") continue;
    const int file = open("/dev/nvidia-uvm-tools", O_RDWR | O_CLOEXEC);
    if (file < 0) return std::string("/dev/nvidia-uvm-tools: ") + std::strerror(errno);
    InitEventTracker init;
    init.queue = reinterpret_cast<std::uint64_t>(entries_);
    init.entries = kEntries;
    init.control = reinterpret_cast<std::uint64_t>(control_);
    init.uvm_file = static_cast<std::uint32_t>(std::atoi(entry.path().filename().c_str()));
    if (ioctl(file, kInitEventTracker, &init) == 0 && init.status == 0) {
      tools_ = file;
      uvm_ = static_cast<int>(init.uvm_file);
      break;
    }
    reason = "the driver's queue: the driver refused it with status " + std::to_string(init.status);
    close(file);
  }
  if (tools_ < 0) {
    try_again_ = true;
    return reason;
  }
  ring_ = EventRing(entries_, kEntries, control_);
  EnableEvents enable;
  enable.types = (1u << kFaultEvent) | (1u << kReplayEvent);
  if (events == Events::kFaultsAndMigrations) enable.types |= 1u << kMigrationEvent;
  if (ioctl(tools_, kEnableEvents, &enable) != 0 || enable.status != 0) {
    return "the driver's queue: the driver refused its events with status " + std::to_string(enable.status);
  }
  return {};
}

void DriverQueue::flush() {
  std::uint32_t status[2] = {};
  ioctl(uvm_, kFlushEvents, status);
}

void DriverQueue::finish(DriverEvents& events) {
  constexpr int kMostLooks = 50, kLeastLooks = 3, kPauseUs = 2000;
  std::uint32_t last = UINT32_MAX;
  for (int look = 0; look < kMostLooks; ++look) {
    flush();
    usleep(kPauseUs);
    const std::uint32_t now = ring_.written();
    drain(events);
    if (now == last && look >= kLeastLooks) break;
    last = now;
  }
}

}  // namespace uvmtrace::faults
