// SPDX-License-Identifier: Apache-2.0
// Errors in the timing pass: it prints one line, and the program continues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>

#include "expect_log.h"
#include "play.h"

namespace {

using testing::HasSubstr;
using testing::SizeIs;

int lines_of(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

void expect_one_line(const Played& played, const std::string& text) {
  EXPECT_EQ(played.exit_status, 7);
  EXPECT_EQ(lines_of(played.standard_error), 1) << played.standard_error;
  EXPECT_EQ(played.standard_error.rfind("uvmtrace: ", 0), 0u) << played.standard_error;
  EXPECT_THAT(played.standard_error, HasSubstr(text));
}
const std::string kSomeCalls = kContext + R"(
{"call":"cuMemAlloc_v2","va":1048576,"bytes":65536}
{"call":"cuLaunchKernel","name":"k","function":10,"params":[[1048576]]}
{"do":"sleep","ms":400}
{"call":"cuLaunchKernel","name":"k","function":10,"params":[[1048576]]}
)";

TEST(TimingTrouble, BusyCuptiNamesTheHolder) {
  const Played played = play(kSomeCalls, {.environment = {{"FAKE_CUPTI_HOLDER", "Nsight Systems"}}});
  expect_one_line(played, "Nsight Systems");
  EXPECT_THAT(played.logs, SizeIs(0));
}

TEST(TimingTrouble, UnsupportedGpu) {
  expect_one_line(play(kSomeCalls, {.environment = {{"FAKE_CUPTI_SUBSCRIBE", "999"}}}), "(999)");
  expect_one_line(play(kSomeCalls, {.environment = {{"FAKE_CUPTI_ENABLE", "15"}}}), "(15)");
}

TEST(TimingTrouble, OlderCupti) {
  expect_one_line(play(kSomeCalls, {.environment = {{"FAKE_CUPTI_VERSION", "28"}}}), "version 28");
}

TEST(TimingTrouble, MissingLogFolder) {
  expect_one_line(play(kSomeCalls, {.environment = {{"UVMTRACE_LOG_DIR", "/nonexistent/folder"}}}),
                  "/nonexistent/folder");
  expect_one_line(play(kSomeCalls, {.environment = {{"UVMTRACE_LOG_DIR", ""}}}), "UVMTRACE_LOG_DIR");
}

TEST(TimingTrouble, RefusedCountersDoNotStop) {
  const Played played = play(kSomeCalls, {.environment = {{"FAKE_CUPTI_UVM", "28"}}});
  expect_whole(played);
  ASSERT_THAT(played.of("note"), SizeIs(1));
  EXPECT_THAT(played.of("note")[0].at("text").get<std::string>(), HasSubstr("UM_PROFILING_NOT_SUPPORTED (28)"));
  EXPECT_THAT(played.of("launch"), SizeIs(2));
}

TEST(TimingTrouble, LostRecordsAreCounted) {
  const Played played = play(kSomeCalls + R"(
{"do":"record","kind":"kernel","corr":1,"start":1000,"end":1500}
{"do":"record","kind":"kernel","corr":2,"start":0,"end":0}
)",
                             {.environment = {{"FAKE_CUPTI_DROPPED", "12"}}});
  EXPECT_EQ(played.exit_status, 7);
  EXPECT_THAT(played.of("kernel"), SizeIs(1));
  EXPECT_EQ(played.events.back().at("dropped"), 13);  // and one for the call that never ended
}

TEST(TimingTrouble, FullDisk) {
  const Played played =
      play(kSomeCalls, {.prepare = [](const std::filesystem::path& logs) {
             std::filesystem::create_symlink("/dev/full", logs / ("timing." + std::to_string(::getpid()) + ".jsonl"));
           }});
  expect_one_line(played, "No space left on device");
}

TEST(TimingTrouble, LimitOnFileSizes) {
  const Played played =
      play(R"({"do":"limit","bytes":2000})"
           "\n" +
           kSomeCalls + R"({"do":"threads","count":1,"times":100,"lines":[{"call":"cuCtxSynchronize"}]})");
  expect_one_line(played, "File too large");
  EXPECT_TRUE(played.every_line_is_whole);
}

TEST(TimingTrouble, KilledProgramLeavesWholeLines) {
  const Played played = play(kSomeCalls + R"(
{"do":"record","kind":"kernel","corr":1,"start":1000,"end":1500}
{"do":"threads","count":2,"times":2000,"lines":[{"call":"cuCtxSynchronize"}]}
{"do":"sleep","ms":700}
{"call":"cuCtxSynchronize"}
{"do":"kill"}
)");
  EXPECT_EQ(played.exit_status, -SIGKILL);
  EXPECT_TRUE(played.every_line_is_whole);
  ASSERT_FALSE(played.events.empty());
  EXPECT_EQ(played.events.front().at("t"), "header");
  EXPECT_THAT(played.of("launch"), SizeIs(2));
  EXPECT_THAT(played.of("kernel"), SizeIs(1));
  EXPECT_GE(played.of("sync").size(), 4000u);
  EXPECT_THAT(played.of("end"), SizeIs(0));
}

TEST(TimingTrouble, CrashedProgram) {
  const Played played = play(kSomeCalls + R"({"do":"sleep","ms":500})"
                                          "\n"
                                          R"({"do":"abort"})");
  EXPECT_EQ(played.exit_status, -SIGABRT);
  EXPECT_TRUE(played.every_line_is_whole);
  EXPECT_THAT(played.of("launch"), SizeIs(2));
}

TEST(TimingTrouble, ForkedChildrenRecordNothing) {
  const Played played = play(kSomeCalls + R"(
{"do":"fork","child":[{"call":"cuCtxSynchronize"},{"do":"push","name":"in the child"}]}
{"call":"cuCtxSynchronize"}
)");
  expect_whole(played);
  EXPECT_THAT(played.of("sync"), SizeIs(1));
  EXPECT_THAT(played.of("push"), SizeIs(0));
  EXPECT_THAT(played.logs, SizeIs(1));
}

TEST(TimingTrouble, ForkWhileThreadsRecord) {
  const Played played = play(kContext + R"(
{"do":"threads","count":4,"times":100,"lines":[{"call":"cuCtxSynchronize"},{"do":"fork","child":[{"call":"cuCtxSynchronize"}]}]}
)");
  expect_whole(played);
  EXPECT_THAT(played.of("sync"), SizeIs(400));
}

}  // namespace
