#include "tracer/log/event_log.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace uvmtrace {

namespace {
constexpr std::size_t kFlushBytes = std::size_t{1} << 20;
constexpr auto kFlushPeriod = std::chrono::milliseconds(200);

// 0 or the error.
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

void EventLog::complain(std::string_view text) {
  std::string line = "uvmtrace: ";
  line += text;
  line += '\n';
  (void)write_all(STDERR_FILENO, line);
}

std::uint32_t EventLog::thread_number() {
  static std::atomic<std::uint32_t> next{0};
  thread_local const std::uint32_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
}

bool EventLog::open(std::string_view pass) {
  std::unique_lock lock(mutex_);
  if (state_ != State::kEarly) return state_ == State::kOpen;
  const char* const folder = std::getenv("UVMTRACE_LOG_DIR");
  if (folder == nullptr || *folder == '\0') {
    complain("UVMTRACE_LOG_DIR is not set; nothing is recorded");
    state_ = State::kClosed;
    return false;
  }
  path_ = std::string(folder) + '/' + std::string(pass) + '.' + std::to_string(::getpid()) + ".jsonl";
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0) {
    complain("cannot write " + path_ + ": " + std::strerror(errno) + "; nothing is recorded");
    state_ = State::kClosed;
    return false;
  }
  static std::once_flag once;
  std::call_once(once, [] { ::pthread_atfork(nullptr, nullptr, &EventLog::forget_in_child); });
  state_ = State::kOpen;
  writer_ = std::thread(&EventLog::run_writer, this);
  return true;
}

// A forked child shares the file but has no writer thread: it records nothing, unless it executes another program.
void EventLog::forget_in_child() {
  EventLog& log = instance();
  log.state_.store(State::kClosed, std::memory_order_release);
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
    pending_ += text;
    ++events_;
    full = pending_.size() >= kFlushBytes;
  }
  if (full) wake_.notify_one();
}

void EventLog::write_out(std::unique_lock<std::mutex>& lock) {
  lock.unlock();
  const std::lock_guard file_lock(file_mutex_);
  lock.lock();
  const std::string text = std::exchange(pending_, {});
  if (text.empty() || file_ < 0 || state_ == State::kClosed) return;
  lock.unlock();
  const int error = write_all(file_, text);
  lock.lock();
  if (error == 0) return;
  state_ = State::kClosed;
  complain("cannot write " + path_ + ": " + std::strerror(error) + "; recording stops here, the program goes on");
}

void EventLog::run_writer() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    wake_.wait_for(lock, kFlushPeriod, [&] { return stop_ || pending_.size() >= kFlushBytes; });
    write_out(lock);
  }
}

void EventLog::flush() {
  if (!is_open()) return;
  std::unique_lock lock(mutex_);
  write_out(lock);
}

void EventLog::close(std::uint64_t dropped) {
  if (!is_open()) return;
  JsonLine end("end");
  {
    const std::lock_guard lock(mutex_);
    end.number("events", events_).number("dropped", dropped);
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
