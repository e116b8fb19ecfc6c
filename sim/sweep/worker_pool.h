// SPDX-License-Identifier: Apache-2.0
// Processes forked from this one, each of which answers one request at a time. The death of a worker is reported, and
// it is replaced.
//
// The pool must be created before this process has threads or much memory.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace uvmsim::sweep {

class WorkerPool {
 public:
  // Runs in a worker, and may keep state between requests. An exception that leaves it ends the worker.
  using Work = std::function<std::string(const std::string& request)>;

  struct Event {
    std::size_t worker = 0;  // idle now
    bool died = false;       // killed, crashed or gone; another process has taken its place
    bool crashed = false;    // died by its own fault: neither lack of memory nor SIGKILL from outside
    pid_t process = 0;       // the one that answered or died
    std::string text;  // the answer, or how it died: "out of memory", "worker died, signal 11 (Segmentation fault)"
  };

  // Throws InputError when the system cannot start another process.
  WorkerPool(std::size_t workers, Work work);
  // Kills the workers. They are also killed when this process dies.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  std::size_t size() const { return workers_.size(); }
  // Sends a request to an idle worker. Requests and answers are at most 60 kB long; longer answers are cut.
  void send(std::size_t worker, const std::string& request);
  // Returns the next answer or death of a worker that has a request; nothing after the timeout or when a signal came.
  std::optional<Event> wait(std::chrono::milliseconds timeout);
  // Kills a worker, whose answer is lost, and starts another in its place. Returns the killed process.
  pid_t replace(std::size_t worker);
  // Kills all workers now. Returns the processes with unanswered requests.
  std::vector<pid_t> kill_all();

 private:
  struct Worker {
    pid_t process = -1;
    int socket = -1;
    bool busy = false;  // it has a request
  };
  Worker start();
  // Reaps the dead process and returns its status as of waitpid().
  int bury(Worker& worker);
  // No exception leaves this function: the worker is a copy of its parent, whose destructors it must not run.
  [[noreturn]] void serve(int socket, pid_t parent) noexcept;

  Work work_;
  std::vector<Worker> workers_;
};

}  // namespace uvmsim::sweep
