// SPDX-License-Identifier: Apache-2.0
// The writer of an event log (README.md describes its content). There is one per process; an injection library uses it
// and, through c_api.h, the PyTorch helper. It never throws and never ends the program. If the log cannot be written
// (full disk, missing folder), it reports this once on standard error and drops everything from then on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "tracer/log/json_line.h"

namespace uvmtrace {

class EventLog {
 public:
  // Returns the process's log. It is never destroyed: callbacks may come after static destructors.
  static EventLog& instance();

  // Opens `<UVMTRACE_LOG_DIR>/<pass>.<pid>.jsonl`, truncating it, and starts the writer thread. Idempotent. Returns
  // false if this fails; then every write is ignored. Events written before are kept. With `wait_for_header` nothing is
  // written to the file before write_header(): the GPU's name is only known once a context exists.
  bool open(std::string_view pass, bool wait_for_header = false);
  // Puts this line before everything that is not written to the file yet. Only the first call has an effect.
  void write_header(JsonLine&& line);
  // Discards what was written and ignores the rest, because nothing can be recorded (another profiler is active).
  void abandon();

  // Returns the next position of a host event in the program, from 1 on.
  std::uint64_t next_sequence() { return sequence_.fetch_add(1, std::memory_order_relaxed) + 1; }
  // Returns a small number for the calling thread, from 0 on in order of first use.
  static std::uint32_t thread_number();

  // Starts a host event: type, seq, tid.
  JsonLine host_event(std::string_view type) { return host_event(type, next_sequence()); }
  JsonLine host_event(std::string_view type, std::uint64_t sequence);

  // Takes a finished line. Lines are written in the order of these calls, about every 0.2 seconds or megabyte.
  void write(JsonLine&& line);
  // Writes everything so far to the file before it returns.
  void flush();
  // Writes `end` with the number of events and of records the profiler lost, and closes. Later writes are ignored.
  void close(std::uint64_t dropped);
  bool is_open() const { return state_.load(std::memory_order_acquire) == State::kOpen; }

  // Prints one line on standard error: "uvmtrace: <text>".
  static void complain(std::string_view text);

  // note() writes a line "note" to the log; warn() also prints it on standard error.
  void note(std::string_view text);
  void warn(std::string_view text);

 private:
  enum class State : std::uint8_t { kEarly, kOpen, kClosed };
  EventLog();
  void run_writer();
  void write_out(std::unique_lock<std::mutex>& lock);
  void drop_everything();  // mutex_ must be held
  static void before_fork();
  static void after_fork_in_parent();
  static void after_fork_in_child();

  std::atomic<State> state_{State::kEarly};
  std::atomic<std::uint64_t> sequence_{0};
  std::mutex mutex_;  // guards the members below; never held while writing to the file
  std::condition_variable wake_;
  std::condition_variable written_out_;
  std::string pending_;
  std::string spare_;  // the buffer last written, kept for its capacity
  std::string path_;
  std::uint64_t events_ = 0;
  std::uint64_t flushes_wanted_ = 0;
  std::uint64_t flushes_done_ = 0;
  bool header_missing_ = false;
  bool early_events_lost_ = false;
  bool stop_ = false;
  int file_ = -1;  // the writer thread's own after open()
  std::thread writer_;
};

}  // namespace uvmtrace
