// SPDX-License-Identifier: Apache-2.0
// A callback for commands while a trace is read, to show progress and to stop at Ctrl-C. A file of a few kilobytes may
// take hours to read.
#pragma once

#include <functional>
#include <utility>

namespace uvmsim::trace {

// During its lifetime, readers of this thread call `poll` regularly; it may throw. A thread has at most one.
class ReadingPoll {
 public:
  explicit ReadingPoll(std::function<void()> poll) : poll_(std::move(poll)) { present_ = &poll_; }
  ~ReadingPoll() { present_ = nullptr; }
  ReadingPoll(const ReadingPoll&) = delete;
  ReadingPoll& operator=(const ReadingPoll&) = delete;

  // Readers call this every few records or kilobytes.
  static void tell() {
    if (present_ != nullptr) (*present_)();
  }

 private:
  std::function<void()> poll_;
  static inline thread_local std::function<void()>* present_ = nullptr;
};

}  // namespace uvmsim::trace
