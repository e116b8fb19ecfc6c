// SPDX-License-Identifier: Apache-2.0
// Workers: answers are returned, and the death of a worker is reported and repaired.
#include "sim/sweep/worker_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/policy/plugin_call.h"

namespace uvmsim::sweep {
namespace {

using ::testing::HasSubstr;
using Event = WorkerPool::Event;

// Waits without a limit; the test runner has one.
Event next(WorkerPool& pool) {
  for (;;) {
    if (auto event = pool.wait(std::chrono::milliseconds(1000))) return *event;
  }
}

// Does what `new` does when memory runs out; sanitizers end the process at a request that is too large.
void run_out_of_memory() { std::get_new_handler()(); }

TEST(WorkerPool, EveryRequestIsAnsweredByAnotherProcess) {
  WorkerPool pool(3, [](const std::string& request) { return request + " by " + std::to_string(::getpid()); });
  for (std::size_t i = 0; i < 3; ++i) pool.send(i, "request " + std::to_string(i));
  std::set<std::string> processes;
  for (int i = 0; i < 3; ++i) {
    const Event event = next(pool);
    EXPECT_FALSE(event.died);
    EXPECT_THAT(event.text, ::testing::StartsWith("request " + std::to_string(event.worker) + " by "));
    processes.insert(event.text.substr(event.text.rfind(' ')));
    EXPECT_EQ(event.text.substr(event.text.rfind(' ') + 1), std::to_string(event.process));
  }
  EXPECT_EQ(processes.size(), 3u);
  EXPECT_EQ(processes.count(" " + std::to_string(::getpid())), 0u);
}

TEST(WorkerPool, AWorkerRemembers) {
  WorkerPool pool(1, [count = 0](const std::string&) mutable { return std::to_string(++count); });
  for (const char* expected : {"1", "2", "3"}) {
    pool.send(0, "again");
    EXPECT_EQ(next(pool).text, expected);
  }
}

// The worker is idle, so its death loses no answer.
TEST(WorkerPool, AnIdleWorkerThatDiesIsReplacedWithoutAWord) {
  WorkerPool pool(2, [](const std::string&) { return std::to_string(::getpid()); });
  pool.send(0, "who are you");
  const pid_t first = std::stoi(next(pool).text);
  ::kill(first, SIGKILL);
  pool.send(1, "who are you");
  EXPECT_EQ(next(pool).worker, 1u);
  // until the process has been reaped
  while (::kill(first, 0) == 0) EXPECT_FALSE(pool.wait(std::chrono::milliseconds(10)));
  pool.send(0, "who are you");
  const Event event = next(pool);
  EXPECT_FALSE(event.died);
  EXPECT_NE(event.text, std::to_string(first));
}

// `timeout` and the end of a terminal session send the signal to the whole group; the parent reports it.
TEST(WorkerPool, AWorkerLeavesTerminationToItsParent) {
  WorkerPool pool(1, [](const std::string&) -> std::string {
    ::raise(SIGTERM);
    return "still here";
  });
  pool.send(0, "end");
  EXPECT_EQ(next(pool).text, "still here");
}

TEST(WorkerPool, AWorkerThatDiesIsReplaced) {
  WorkerPool pool(2, [](const std::string& request) -> std::string {
    if (request == "kill") ::raise(SIGKILL);
    if (request == "crash") ::raise(SIGSEGV);
    if (request == "exit") ::_exit(7);
    if (request == "memory") run_out_of_memory();
    if (request == "memory in a destructor") []() noexcept { run_out_of_memory(); }();
    if (request.starts_with("memory, then an assertion")) {
      if (request.ends_with("beside plug-ins")) policy::watch_plugin_calls();
      try {
        run_out_of_memory();
      } catch (const std::bad_alloc&) {
        std::abort();
      }
    }
    if (request == "exception") throw std::runtime_error("why");
    return "fine";
  });
  struct Death {
    const char* request;
    const char* text;
    bool crashed;
  };
  const std::vector<Death> deaths = {{"kill", "worker died, signal 9", false},
                                     {"crash", "worker died, signal 11", true},
                                     {"exit", "exit code 7", true},
                                     {"memory", "out of memory", false},
                                     {"memory in a destructor", "out of memory", false},
                                     {"memory, then an assertion", "out of memory", false},
                                     {"memory, then an assertion beside plug-ins", "out of memory", false},
                                     {"exception", "worker died, signal 6", true}};
  for (const auto& [request, text, crashed] : deaths) {
    pool.send(1, request);
    const Event death = next(pool);
    EXPECT_TRUE(death.died);
    EXPECT_EQ(death.crashed, crashed);
    EXPECT_EQ(death.worker, 1u);
    EXPECT_THAT(death.text, HasSubstr(text));
    pool.send(1, "live");
    pool.send(0, "live");
    for (int i = 0; i < 2; ++i) {
      const Event alive = next(pool);
      EXPECT_FALSE(alive.died);
      EXPECT_EQ(alive.text, "fine");
      EXPECT_NE(alive.process, death.process);
    }
  }
}

TEST(WorkerPool, WaitingEndsWithItsTime) {
  WorkerPool pool(1, [](const std::string&) {
    ::pause();
    return std::string();
  });
  pool.send(0, "never");
  EXPECT_EQ(pool.wait(std::chrono::milliseconds(5)), std::nullopt);
}

TEST(WorkerPool, EmptyAndLongAnswersArrive) {
  WorkerPool pool(1, [](const std::string& request) { return std::string(std::stoul(request), 'x'); });
  pool.send(0, "0");
  const Event empty = next(pool);
  EXPECT_FALSE(empty.died);
  pool.send(0, "1000000");
  EXPECT_EQ(next(pool).text, std::string(60'000, 'x'));
}

TEST(WorkerPool, NobodyIsLeftWhenItEnds) {
  pid_t worker = 0;
  {
    WorkerPool pool(1, [](const std::string&) { return std::to_string(::getpid()); });
    pool.send(0, "who");
    worker = static_cast<pid_t>(std::stol(next(pool).text));
    EXPECT_EQ(::kill(worker, 0), 0);
  }
  EXPECT_NE(::kill(worker, 0), 0);
}

}  // namespace
}  // namespace uvmsim::sweep
