// SPDX-License-Identifier: Apache-2.0
// The event log: the form of a line, and the content of a file after threads, kills, forks and full disks. Each case
// runs in a child process of its own, because a process has one log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tracer/log/c_api.h"
#include "tracer/log/event_log.h"
#include "tracer/log/host_clock.h"
#include "tracer/log/process_header.h"
#include "tracer/log/streams.h"

namespace {

using nlohmann::json;
using uvmtrace::EventLog;
using uvmtrace::JsonLine;

struct Ran {
  int exit_status = -1;  // or minus the signal
  std::string standard_error;
  std::vector<json> events;
  bool every_line_is_whole = true;
  bool ends_in_mid_line = false;
  bool has_log = false;
};

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// Runs `body` in a child; `watch` sees the child's log while it runs.
Ran run(const std::function<void()>& body, const std::function<void(pid_t, const std::filesystem::path&)>& watch = {}) {
  std::string folder = (std::filesystem::temp_directory_path() / "uvmtrace-log-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) std::abort();
  const std::filesystem::path base = folder;
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("UVMTRACE_LOG_DIR", folder.c_str(), 1);
    if (std::freopen((base / "err").c_str(), "w", stderr) == nullptr) std::_Exit(90);
    body();
    std::_Exit(0);
  }
  const std::filesystem::path log = base / ("test." + std::to_string(child) + ".jsonl");
  if (watch) watch(child, log);
  int status = 0;
  ::waitpid(child, &status, 0);
  Ran ran;
  ran.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  ran.standard_error = read(base / "err");
  ran.has_log = std::filesystem::is_regular_file(log);
  const std::string text = ran.has_log ? read(log) : std::string();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    ran.ends_in_mid_line = end == std::string::npos;
    if (ran.ends_in_mid_line) break;
    json event = json::parse(text.substr(begin, end - begin), nullptr, false);
    ran.every_line_is_whole = ran.every_line_is_whole && !event.is_discarded();
    ran.events.push_back(std::move(event));
    begin = end + 1;
  }
  std::filesystem::remove_all(base);
  return ran;
}

JsonLine counted(int thread, int index) {
  JsonLine line = EventLog::instance().host_event("test");
  line.number("thread", thread).number("index", index).text("padding", std::string(100, 'x'));
  return line;
}

TEST(JsonLine, NestsListsAndEscapes) {
  JsonLine line("a");
  line.number("u", UINT64_MAX).number("i", INT64_MIN).boolean("b", true).begin_list("l").item(1).begin_list();
  line.item(2).text_item("x\"y\\z\n\x01").end_list().begin_list().end_list().end_list().text("t", "\t\xc3\xb6");
  const json parsed = json::parse(line.finish());
  EXPECT_EQ(parsed, json::parse(R"({"t":"\tö","u":18446744073709551615,"i":-9223372036854775808,"b":true,
                                    "l":[1,[2,"x\"y\\z\n\u0001"],[]]})")
                        .patch(json::array({{{"op", "replace"}, {"path", "/t"}, {"value", parsed["t"]}}})));
  EXPECT_EQ(parsed["l"][1][1], std::string("x\"y\\z\n\x01"));
}

TEST(EventLog, HeaderComesBeforeEarlyEvents) {
  const Ran ran = run([] {
    uvmtrace_range_push("early");  // before a log is open
    EventLog& log = EventLog::instance();
    log.open("test", true);
    log.write(log.host_event("test"));
    log.flush();  // nothing may reach the file yet
    log.write_header(uvmtrace::header_line("test", {"gpu", 1, 9, 0, 12080}));
    log.write_header(JsonLine("header"));
    uvmtrace_range_pop();
    log.close(3);
    log.write(JsonLine("late"));
    log.close(4);
  });
  ASSERT_EQ(ran.events.size(), 5u);
  EXPECT_EQ(ran.events[0].at("t"), "header");
  EXPECT_EQ(ran.events[0].at("cuda"), "12.8");
  EXPECT_EQ(ran.events[1].at("name"), "early");
  EXPECT_EQ(ran.events[1].at("seq"), 1);
  EXPECT_EQ(ran.events[3].at("t"), "pop");
  EXPECT_EQ(ran.events[4], json::parse(R"({"t":"end","events":4,"dropped":3})"));
  EXPECT_EQ(ran.standard_error, "");
}

TEST(EventLog, ThreadsWriteWholeLinesInTheirOrder) {
  constexpr int kThreads = 8;
  constexpr int kLines = 5000;
  const Ran ran = run([] {
    EventLog::instance().open("test");
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < kLines; ++i) {
          EventLog::instance().write(counted(t, i));
          if (i % 1000 == 0) EventLog::instance().flush();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EventLog::instance().close(0);
  });
  ASSERT_EQ(ran.events.size(), std::size_t{kThreads} * kLines + 1);
  EXPECT_TRUE(ran.every_line_is_whole);
  std::map<int, int> next;
  std::map<int, std::uint64_t> last_place;
  for (const json& event : ran.events) {
    if (event.at("t") != "test") continue;
    const int thread = event.at("thread");
    EXPECT_EQ(event.at("index"), next[thread]++);
    EXPECT_GT(event.at("seq"), last_place[thread]);
    last_place[thread] = event.at("seq");
  }
}

TEST(EventLog, KilledInMidWritingLeavesALoadablePrefix) {
  const Ran ran = run(
      [] {
        EventLog::instance().open("test");
        for (int i = 0;; ++i) EventLog::instance().write(counted(0, i));
      },
      [](pid_t child, const std::filesystem::path& log) {
        std::error_code ignored;
        while (!std::filesystem::exists(log) || std::filesystem::file_size(log, ignored) < 3'000'000) ::usleep(100);
        ::kill(child, SIGKILL);
      });
  EXPECT_EQ(ran.exit_status, -SIGKILL);
  EXPECT_TRUE(ran.every_line_is_whole);
  ASSERT_GT(ran.events.size(), 10000u);
  for (std::size_t i = 0; i < ran.events.size(); ++i) ASSERT_EQ(ran.events[i].at("index"), i);
}

TEST(EventLog, FlushReachesTheFile) {
  const Ran ran = run([] {
    EventLog::instance().open("test");
    EventLog::instance().write(counted(0, 0));
    uvmtrace_flush();
    ::raise(SIGKILL);
  });
  EXPECT_EQ(ran.events.size(), 1u);
}

TEST(EventLog, TroubleIsOneLine) {
  const auto write_some = [] {
    EventLog::instance().open("test");
    for (int i = 0; i < 100; ++i) {
      EventLog::instance().write(counted(0, i));
      EventLog::instance().flush();
    }
    EventLog::instance().close(0);
  };
  const auto lines = [](const Ran& ran) {
    return std::count(ran.standard_error.begin(), ran.standard_error.end(), '\n');
  };

  Ran ran = run([&] {
    ::setenv("UVMTRACE_LOG_DIR", "/nonexistent", 1);
    write_some();
  });
  EXPECT_EQ(ran.exit_status, 0);
  EXPECT_EQ(lines(ran), 1) << ran.standard_error;
  EXPECT_THAT(ran.standard_error, testing::HasSubstr("uvmtrace: cannot write /nonexistent/"));

  ran = run([&] {
    ::unsetenv("UVMTRACE_LOG_DIR");
    write_some();
  });
  EXPECT_EQ(lines(ran), 1) << ran.standard_error;

  ran = run([&] {
    const std::string log = std::string(std::getenv("UVMTRACE_LOG_DIR")) + "/test." + std::to_string(::getpid());
    std::filesystem::create_symlink("/dev/full", log + ".jsonl");
    write_some();
  });
  EXPECT_EQ(ran.exit_status, 0);
  EXPECT_EQ(lines(ran), 1) << ran.standard_error;
  EXPECT_THAT(ran.standard_error, testing::HasSubstr("No space left on device"));

  ran = run([&] {
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    write_some();
  });
  EXPECT_EQ(ran.exit_status, 0);  // not killed by the signal of the file-size limit
  EXPECT_EQ(lines(ran), 1) << ran.standard_error;
  EXPECT_TRUE(ran.every_line_is_whole);
  EXPECT_GT(ran.events.size(), 3u);
}

TEST(EventLog, AbandonedLogSaysNothing) {
  const Ran ran = run([] {
    uvmtrace_range_push("lost");
    EventLog::instance().abandon();
    uvmtrace_range_pop();
    EventLog::instance().open("test");
    EventLog::instance().close(0);
  });
  EXPECT_FALSE(ran.has_log);
  EXPECT_EQ(ran.standard_error, "");
}

TEST(EventLog, ForkedChildWritesNothingAndParentGoesOn) {
  const Ran ran = run([] {
    EventLog& log = EventLog::instance();
    log.open("test");
    std::thread busy([] {
      for (int i = 0; i < 20000; ++i) EventLog::instance().write(counted(1, i));
    });
    for (int i = 0; i < 20; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        log.write(counted(2, i));
        log.flush();
        log.close(0);
        std::_Exit(0);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      if (status != 0) std::_Exit(3);
    }
    busy.join();
    log.close(0);
  });
  EXPECT_EQ(ran.exit_status, 0);
  EXPECT_TRUE(ran.every_line_is_whole);
  EXPECT_EQ(ran.events.size(), 20001u);
}

TEST(StreamNumbers, DefaultStreamsAreZeroOthersCountFromOne) {
  auto& numbers = uvmtrace::StreamNumbers::instance();
  EXPECT_EQ(numbers.number(0), 0u);
  EXPECT_EQ(numbers.number(1), 0u);
  EXPECT_EQ(numbers.number(2), 0u);
  const auto first = numbers.number(0x1000);
  EXPECT_EQ(first, 1u);
  EXPECT_EQ(numbers.number(0x2000), 2u);
  EXPECT_EQ(numbers.number(0x1000), 1u);
}

}  // namespace
