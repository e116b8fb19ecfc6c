// SPDX-License-Identifier: Apache-2.0
#include "tracer/ground_truth/observer.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "tracer/ground_truth/managed_budget.h"

namespace uvmtrace::ground_truth {

namespace {

enum class Status : std::uint32_t { kDone, kRefused, kFailed };
constexpr std::size_t kMessageBytes = 400;
constexpr std::uint64_t kLeave = UINT64_MAX;  // a command instead of an index

struct Answer {
  Status status = Status::kDone;
  Timing timing;
  char message[kMessageBytes] = {};
};

// Return false if the other process has ended.
bool put(int socket, const void* data, std::size_t bytes) {
  return send(socket, data, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}
bool take(int socket, void* data, std::size_t bytes) {
  return recv(socket, data, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

template <class F>
Answer answer_of(F&& f) {
  Answer answer;
  try {
    f(answer);
  } catch (const Refusal& refusal) {
    answer.status = Status::kRefused;
    std::snprintf(answer.message, kMessageBytes, "%s", refusal.what());
  } catch (const std::exception& error) {
    answer.status = Status::kFailed;
    std::snprintf(answer.message, kMessageBytes, "%s", error.what());
  }
  return answer;
}

void serve(Observer observer, const std::function<Worker::RunOne(Observer)>& open, int socket) {
  Worker::RunOne run;
  const Answer opened = answer_of([&](Answer&) { run = open(observer); });
  if (!put(socket, &opened, sizeof opened) || opened.status != Status::kDone) return;
  std::uint64_t i = 0;
  while (take(socket, &i, sizeof i) && i != kLeave) {
    const Answer answer = answer_of([&](Answer& out) { out.timing = run(i); });
    if (!put(socket, &answer, sizeof answer)) return;
  }
}

}  // namespace

Worker::Worker(Observer observer, const std::function<RunOne(Observer)>& open) : observer_(observer) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
    throw std::runtime_error("socketpair: " + std::string(std::strerror(errno)));
  }
  std::fflush(nullptr);
  process_ = fork();
  if (process_ < 0) throw std::runtime_error("fork: " + std::string(std::strerror(errno)));
  if (process_ == 0) {
    close(ends[0]);
    serve(observer, open, ends[1]);
    std::fflush(nullptr);
    _exit(0);
  }
  close(ends[1]);
  socket_ = ends[0];
}

Worker::~Worker() {
  put(socket_, &kLeave, sizeof kLeave);
  close(socket_);
  waitpid(process_, nullptr, 0);
}

Timing Worker::answer() {
  Answer answer;
  const std::string who = kObserverNames[static_cast<std::size_t>(observer_)];
  if (!take(socket_, &answer, sizeof answer)) throw std::runtime_error("the process of '" + who + "' ended early");
  answer.message[kMessageBytes - 1] = '\0';
  if (answer.status == Status::kRefused) throw Refusal(answer.message);
  if (answer.status == Status::kFailed) throw std::runtime_error(who + ": " + answer.message);
  return answer.timing;
}

void Worker::wait_until_open() { answer(); }

Timing Worker::run(std::size_t i) {
  const std::uint64_t index = i;
  if (!put(socket_, &index, sizeof index)) throw std::runtime_error("a measuring process ended early");
  return answer();
}

}  // namespace uvmtrace::ground_truth
