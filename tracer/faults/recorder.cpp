// SPDX-License-Identifier: Apache-2.0
// The library that `uvmtrace faults` loads into the program. The CUDA driver loads it when the program initialises CUDA
// (CUDA_INJECTION64_PATH) and calls InitializeInjection. A separate thread opens the driver's queue as soon as the
// process has its /dev/nvidia-uvm file, empties it, and writes $UVMTRACE_LOG_DIR/faults.<pid>.log.
//
// Errors are written to the log or to standard error; the program continues.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "tracer/faults/driver_queue.h"
#include "tracer/faults/fault_log.h"
#include "tracer/faults/gpu_names.h"
#include "tracer/log/event_log.h"
#include "tracer/log/process_header.h"
#include "tracer/log/start_once.h"

namespace uvmtrace::faults {

namespace {

constexpr std::int64_t kLookNs = 1'000'000;       // the queue holds 2^20 events; a GPU raises at most 50 per us
constexpr std::int64_t kSectionNs = 500'000'000;  // a killed program loses at most the events of this time
constexpr std::size_t kSectionEvents = 1u << 18;
constexpr auto kMostWait = std::chrono::seconds(10);

std::int64_t steady_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

class Recorder {
 public:
  static Recorder& instance() {
    static Recorder* const recorder = new Recorder;  // never destroyed: the thread may outlive static destructors
    return *recorder;
  }

  // Returns why nothing can be recorded, or an empty text.
  std::string start() {
    const char* const folder = std::getenv("UVMTRACE_LOG_DIR");
    if (folder == nullptr || *folder == '\0') return "UVMTRACE_LOG_DIR is not set";
    path_ = std::string(folder) + "/faults." + std::to_string(::getpid()) + ".log";
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file_ < 0) return "cannot write " + path_ + ": " + std::strerror(errno);
    process_ = ::getpid();
    section_ = "process " + std::to_string(process_);
    write(header_line("faults", {gpu_names()}).finish());
    thread_ = std::thread(&Recorder::run, this);
    if (std::atexit([] { instance().finish(); }) != 0) return "cannot register an exit handler";
    return {};
  }

  // Begins a section of that name. Waits until the events before are written.
  void begin_section(const char* name) {
    if (::getpid() != process_) return;
    std::unique_lock lock(mutex_);
    next_section_ = name;
    section_wanted_ = true;
    // If there is no queue, as in a process that has not used CUDA, the thread never begins the section.
    section_begun_.wait_for(lock, kMostWait, [&] { return !section_wanted_ || ended_; });
  }

 private:
  // The handler also runs in forked children, which have no such thread and share the file.
  void finish() {
    if (::getpid() != process_) return;
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  void run() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);  // the program's handlers must not run here
    std::string problem;
    try {
      problem = queue_.start(DriverQueue::Events::kFaultsAndMigrations);
      while (!problem.empty() && queue_.worth_another_try() && !stop_) {
        pause();
        problem = queue_.start(DriverQueue::Events::kFaultsAndMigrations);
      }
      if (problem.empty()) record();
    } catch (...) {
      problem = "out of memory; the rest is not recorded";
    }
    if (!problem.empty()) EventLog::complain("raw faults: " + problem);
    write(end_line(dropped_, problem));
    ::close(file_);
    const std::lock_guard lock(mutex_);
    ended_ = true;
    section_begun_.notify_all();
  }

  void record() {
    std::int64_t written = steady_ns();
    while (!stop_) {
      pause();
      queue_.drain(events_);
      const std::int64_t now = steady_ns();
      if (next_section()) {
        written = now;
        continue;
      }
      if (events_.size() < kSectionEvents && now - written < kSectionNs) continue;
      queue_.flush();
      queue_.drain(events_);
      write_section();
      written = now;
    }
    queue_.finish(events_);
    write_section();
  }

  // Begins a section if the program has requested one; returns whether it did.
  bool next_section() {
    const std::lock_guard lock(mutex_);
    if (!section_wanted_) return false;
    queue_.finish(events_);
    write_section();
    section_ = next_section_;
    section_wanted_ = false;
    section_begun_.notify_all();
    return true;
  }

  void write_section() {
    const std::uint64_t dropped = queue_.take_dropped();
    if (events_.size() == 0 && events_.unknown == 0 && dropped == 0) return;
    dropped_ += dropped;
    JsonLine line("events");
    line.text("name", section_);
    std::string bytes;
    add_section(std::move(line), events_, {}, dropped, bytes);
    write(bytes);
    events_.clear();
  }

  void write(const std::string& bytes) {
    std::size_t done = 0;
    while (done < bytes.size() && !failed_) {
      const ssize_t n = ::write(file_, bytes.data() + done, bytes.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        failed_ = true;
        EventLog::complain("cannot write " + path_ + ": " + std::strerror(errno) + "; recording stops here");
        return;
      }
      done += static_cast<std::size_t>(n);
    }
  }

  static void pause() {
    const timespec time{0, kLookNs};
    ::nanosleep(&time, nullptr);
  }

  std::string path_;
  int file_ = -1;
  pid_t process_ = 0;
  std::thread thread_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // guards the next four
  std::condition_variable section_begun_;
  std::string next_section_;
  bool section_wanted_ = false, ended_ = false;
  // Used by the thread only.
  DriverQueue queue_;
  DriverEvents events_;
  std::string section_;
  std::uint64_t dropped_ = 0;
  bool failed_ = false;
};

}  // namespace

}  // namespace uvmtrace::faults

// For programs that know of the recorder: begins the log's next section, with that name. Waits some milliseconds until
// earlier events are written, so the GPU must be idle and nothing may be measured meanwhile.
extern "C" [[gnu::visibility("default")]] void uvmtrace_faults_section(const char* name) {
  try {
    if (name != nullptr) uvmtrace::faults::Recorder::instance().begin_section(name);
  } catch (...) {
    uvmtrace::EventLog::complain("raw faults: out of memory; a section has no name");
  }
}

extern "C" [[gnu::visibility("default")]] int InitializeInjection(void) {
  return uvmtrace::start_once([]() -> std::string {
    const std::string problem = uvmtrace::faults::Recorder::instance().start();
    return problem.empty() ? problem : "raw faults: " + problem;
  });
}
