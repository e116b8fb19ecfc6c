// SPDX-License-Identifier: Apache-2.0
// Processes forked from this one, each of which answers one request at a time. One that dies is told of and replaced.
//
// Fork them before this process has threads or much memory.
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
  // Runs in a worker. Keeps what it likes between requests; an exception that leaves it ends the worker.
  using Work = std::function<std::string(const std::string& request)>;

  struct Event {
    std::size_t worker = 0;  // idle now
    bool died = false;       // killed, crashed or gone; another process has taken its place
    bool crashed = false;    // died of its own: not for lack of memory, not by SIGKILL from outside
    pid_t process = 0;       // the one that answered or died
    std::string text;  // the answer, or how it died: "out of memory", "worker died, signal 11 (Segmentation fault)"
  };

  // Throws InputError when the system has no process left.
  WorkerPool(std::size_t workers, Work work);
  // Kills them. When this process dies, they are killed, too.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  std::size_t size() const { return workers_.size(); }
  // To an idle worker. Requests and answers are short: at most 60 kB, longer answers are cut.
  void send(std::size_t worker, const std::string& request);
  // The next answer or death of a worker that has a request. Nothing when the time is over or a signal came.
  std::optional<Event> wait(std::chrono::milliseconds timeout);
  // Kills one and puts another in its place; its process. What it was about to answer is lost.
  pid_t replace(std::size_t worker);
  // Kills all workers now; their processes, with requests unanswered.
  std::vector<pid_t> kill_all();

 private:
  struct Worker {
    pid_t process = -1;
    int socket = -1;
  };
  Worker start();
  // What waitpid() says of it.
  int bury(Worker& worker);
  // An exception does not leave it: the worker is a copy of its parent, whose destructors are not for the copy to run.
  [[noreturn]] void serve(int socket, pid_t parent) noexcept;

  Work work_;
  std::vector<Worker> workers_;
};

}  // namespace uvmsim::sweep
