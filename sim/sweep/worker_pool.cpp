// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/worker_pool.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "sim/common/error.h"
#include "sim/common/out_of_memory.h"
#include "sim/policy/plugin_call.h"

namespace uvmsim::sweep {
namespace {

// A message of this size fits into a socket's buffer on every system.
constexpr std::size_t kLongestMessage = 60'000;
// The prefix of a worker's last message, which says why it ends.
constexpr const char* kDeath = "\x04";
constexpr std::string_view kDeathWithoutMemory = "\x04out of memory";

// Receives a whole message; returns nothing when the other side is gone.
std::optional<std::string> receive(int socket) {
  std::string message(kLongestMessage, '\0');
  ssize_t length = -1;
  do {
    length = ::recv(socket, message.data(), message.size(), 0);
  } while (length < 0 && errno == EINTR);
  if (length <= 0) return std::nullopt;
  message.resize(static_cast<std::size_t>(length));
  return message;
}

bool transmit(int socket, const std::string& message) {
  const std::size_t length = std::min(message.size(), kLongestMessage);
  ssize_t sent = -1;
  do {
    sent = ::send(socket, message.data(), length, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(length);
}

int socket_to_parent = -1;  // of a worker

int tell_parent_of_no_memory() {
  static_cast<void>(::send(socket_to_parent, kDeathWithoutMemory.data(), kDeathWithoutMemory.size(), MSG_NOSIGNAL));
  return 1;
}

std::string how_it_ended(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("worker ended with exit code {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  return fmt::format("worker died, signal {} ({}{})", signal, ::strsignal(signal),
                     signal == SIGKILL ? " from outside, for lack of memory perhaps" : "");
}

}  // namespace

WorkerPool::WorkerPool(std::size_t workers, Work work) : work_(std::move(work)) {
  for (std::size_t i = 0; i < workers; ++i) workers_.push_back(start());
}

WorkerPool::~WorkerPool() { kill_all(); }

WorkerPool::Worker WorkerPool::start() {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    throw_input_error("cannot start a worker: {}", std::strerror(errno));
  }
  std::fflush(nullptr);  // _exit() flushes nothing but abort() might, so the buffers are emptied before the fork
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process < 0) {
    const int reason = errno;
    ::close(sockets[0]);
    ::close(sockets[1]);
    throw_input_error("cannot start a worker: {}", std::strerror(reason));
  }
  if (process == 0) {
    ::close(sockets[0]);
    for (const Worker& other : workers_) ::close(other.socket);
    serve(sockets[1], parent);
  }
  ::close(sockets[1]);
  return {process, sockets[0]};
}

void WorkerPool::serve(int socket, pid_t parent) noexcept {
  socket_to_parent = socket;
  end_without_memory_by(tell_parent_of_no_memory);
  // Ctrl-C, the end of a terminal and `timeout` signal the whole process group; the parent alone handles them.
  for (const int signal : {SIGINT, SIGHUP, SIGTERM}) std::signal(signal, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);  // it died before the call above
  policy::report_plugin_calls_to(socket, kDeath);
  while (const auto request = receive(socket)) {
    std::string answer = work_(*request);
    if (answer.empty()) answer = " ";  // an empty message would look like the end
    if (!transmit(socket, answer)) break;
  }
  ::_exit(0);
}

int WorkerPool::bury(Worker& worker) {
  ::close(std::exchange(worker.socket, -1));
  int status = 0;
  while (::waitpid(worker.process, &status, 0) < 0 && errno == EINTR) {
  }
  worker.process = -1;
  return status;
}

void WorkerPool::send(std::size_t worker, const std::string& request) {
  // The death of a worker is noticed when its answer is awaited.
  workers_[worker].busy = true;
  static_cast<void>(transmit(workers_[worker].socket, request));
}

std::optional<WorkerPool::Event> WorkerPool::wait(std::chrono::milliseconds timeout) {
  std::vector<pollfd> sockets;
  for (const Worker& worker : workers_) sockets.push_back({worker.socket, POLLIN, 0});
  if (::poll(sockets.data(), sockets.size(), static_cast<int>(timeout.count())) <= 0) return std::nullopt;
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    if (sockets[i].revents == 0) continue;
    Worker& worker = workers_[i];
    if (!worker.busy) {  // an idle worker that can be read has died; no request is lost
      bury(worker);
      worker = start();
      continue;
    }
    worker.busy = false;
    Event event;
    event.worker = i;
    event.process = worker.process;
    auto answer = receive(worker.socket);
    event.died = !answer || answer->starts_with(kDeath);
    if (event.died) {
      const int status = bury(worker);
      event.crashed = answer != kDeathWithoutMemory && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
      event.text = answer ? answer->substr(1) : how_it_ended(status);
      worker = start();
    } else {
      event.text = *std::move(answer);
    }
    return event;
  }
  return std::nullopt;
}

pid_t WorkerPool::replace(std::size_t worker) {
  const pid_t process = workers_[worker].process;
  ::kill(process, SIGKILL);
  bury(workers_[worker]);
  workers_[worker] = start();
  return process;
}

std::vector<pid_t> WorkerPool::kill_all() {
  std::vector<pid_t> processes;
  for (const Worker& worker : workers_) {
    if (worker.process > 0) ::kill(worker.process, SIGKILL);
  }
  for (Worker& worker : workers_) {
    if (worker.process <= 0) continue;
    processes.push_back(worker.process);
    bury(worker);
  }
  workers_.clear();
  return processes;
}

}  // namespace uvmsim::sweep
