// SPDX-License-Identifier: Apache-2.0
#include "tracer/log/event_log.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace uvmtrace {

namespace {
constexpr std::size_t kFlushBytes = std::size_t{1} << 20;
// Limits the memory that a helper can fill if its log is never opened.
constexpr std::size_t kMostEarlyBytes = std::size_t{64} << 20;
constexpr auto kFlushPeriod = std::chrono::milliseconds(200);

// Returns 0 or the error.
int write_all(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(file, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    done += static_cast<std::size_t>(n);
  }
  return 0;
}
}  // namespace

EventLog& EventLog::instance() {
  static EventLog* const log = new EventLog;
  return *log;
}

EventLog::EventLog() {
  ::pthread_atfork(&EventLog::before_fork, &EventLog::after_fork_in_parent, &EventLog::after_fork_in_child);
}

void EventLog::complain(std::string_view text) {
  std::string line = "uvmtrace: ";
  line += text;
  line += '\n';
  (void)write_all(STDERR_FILENO, line);
}

void EventLog::note(std::string_view text) {
  JsonLine line("note");
  line.text("text", text);
  write(std::move(line));
}

void EventLog::warn(std::string_view text) {
  complain(text);
  note(text);
}

std::uint32_t EventLog::thread_number() {
  static std::atomic<std::uint32_t> next{0};
  thread_local const std::uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

bool EventLog::open(std::string_view pass, bool wait_for_header) {
  std::unique_lock lock(mutex_);
  if (state_ != State::kEarly) return state_ == State::kOpen;
  const char* const folder = std::getenv("UVMTRACE_LOG_DIR");
  if (folder == nullptr || *folder == '\0') {
    complain("UVMTRACE_LOG_DIR is not set; nothing is recorded");
    drop_everything();
    return false;
  }
  path_ = std::string(folder) + '/' + std::string(pass) + '.' + std::to_string(::getpid()) + ".jsonl";
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0) {
    complain("cannot write " + path_ + ": " + std::strerror(errno) + "; nothing is recorded");
    drop_everything();
    return false;
  }
  if (early_events_lost_) {
    pending_ += JsonLine("note").text("text", "too many events before CUDA was used; some are lost").finish();
    ++events_;
  }
  header_missing_ = wait_for_header;
  state_ = State::kOpen;
  writer_ = std::thread(&EventLog::run_writer, this);
  return true;
}

void EventLog::write_header(JsonLine&& line) {
  const std::string text = line.finish();
  const std::lock_guard lock(mutex_);
  if (!header_missing_) return;
  pending_.insert(0, text);
  ++events_;
  header_missing_ = false;
}

void EventLog::abandon() {
  const std::lock_guard lock(mutex_);
  if (state_ == State::kEarly) drop_everything();
}

void EventLog::drop_everything() {
  state_ = State::kClosed;
  pending_ = {};
}

// A forked child shares the file but has no writer thread: it records nothing, unless it executes another program. The
// lock is held during the fork so that no child inherits it in a locked state.
void EventLog::before_fork() { instance().mutex_.lock(); }
void EventLog::after_fork_in_parent() { instance().mutex_.unlock(); }
void EventLog::after_fork_in_child() {
  EventLog& log = instance();
  if (log.state_ == State::kOpen) log.state_ = State::kClosed;
  log.pending_.clear();
  log.mutex_.unlock();
}

JsonLine EventLog::host_event(std::string_view type, std::uint64_t sequence) {
  JsonLine line(type);
  line.number("seq", sequence).number("tid", thread_number());
  return line;
}

void EventLog::write(JsonLine&& line) {
  if (state_.load(std::memory_order_acquire) == State::kClosed) return;
  const std::string text = line.finish();
  bool full = false;
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kClosed) return;
    if (state_ == State::kEarly && pending_.size() > kMostEarlyBytes) {
      early_events_lost_ = true;
      return;
    }
    pending_ += text;
    ++events_;
    full = pending_.size() >= kFlushBytes;
  }
  if (full) wake_.notify_one();
}

void EventLog::write_out(std::unique_lock<std::mutex>& lock) {
  if (pending_.empty() || header_missing_ || state_ == State::kClosed) return;
  std::string text = std::exchange(pending_, std::move(spare_));
  lock.unlock();
  const int error = write_all(file_, text);
  text.clear();
  lock.lock();
  spare_ = std::move(text);
  if (error == 0) return;
  drop_everything();
  complain("cannot write " + path_ + ": " + std::strerror(error) + "; recording stops here, the program goes on");
}

// The only thread that writes. It blocks all signals: the program's handlers must not run here, and a write beyond the
// limit on file sizes raises SIGXFSZ, which ends a process that does not block it.
void EventLog::run_writer() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  std::unique_lock lock(mutex_);
  while (!stop_ || flushes_done_ < flushes_wanted_) {
    wake_.wait_for(lock, kFlushPeriod, [&] {
      return stop_ || flushes_done_ < flushes_wanted_ || (pending_.size() >= kFlushBytes && !header_missing_);
    });
    const std::uint64_t flushes = flushes_wanted_;
    write_out(lock);
    flushes_done_ = flushes;
    written_out_.notify_all();
  }
}

void EventLog::flush() {
  if (!is_open()) return;
  std::unique_lock lock(mutex_);
  if (state_ != State::kOpen || stop_) return;
  const std::uint64_t wanted = ++flushes_wanted_;
  wake_.notify_one();
  written_out_.wait(lock, [&] { return flushes_done_ >= wanted; });
}

void EventLog::close(std::uint64_t dropped) {
  if (!is_open()) return;
  JsonLine end("end");
  {
    const std::lock_guard lock(mutex_);
    end.number("events", events_).number("dropped", dropped);
    header_missing_ = false;
  }
  write(std::move(end));
  flush();
  {
    const std::lock_guard lock(mutex_);
    state_ = State::kClosed;
    stop_ = true;
  }
  wake_.notify_one();
  if (writer_.joinable()) writer_.join();
  ::close(file_);
}

}  // namespace uvmtrace
