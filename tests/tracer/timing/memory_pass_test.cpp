// SPDX-License-Identifier: Apache-2.0
// The memory pass: which call took how much of each GPU's memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "expect_log.h"
#include "play.h"

namespace {

using testing::IsEmpty;
using testing::SizeIs;

Played play_memory(const std::string& script) {
  return play(script, {.library = UVMTRACE_MEMORY_LIBRARY, .pass = "memory"});
}

TEST(MemoryPass, WhatACallTakesIsItsOwn) {
  const Played played = play_memory(kContext + R"(
{"call":"cuStreamSynchronize","stream":0}
{"call":"cuLaunchKernel","name":"k","params":[],"function":5,"takes":1000}
{"call":"cuLaunchKernel","name":"k","params":[],"function":5}
{"call":"cuMemAlloc_v2","va":4096,"bytes":100,"takes":2097152}
{"do":"iteration","index":3,"begin":true}
{"call":"cuMemFree_v2","va":4096,"takes":-2097152}
{"call":"cuLaunchKernel","name":"k","params":[],"function":5,"takes":-200}
)");
  expect_whole(played);
  EXPECT_FIELDS(played.events.front(), R"({"version":1,"pass":"memory","gpu":"Fake \"GPU\""})");
  ASSERT_THAT(played.of("free_memory"), SizeIs(1));
  EXPECT_FIELDS(played.of("free_memory")[0], R"({"bytes":1073741824})");
  const auto taken = played.of("device_memory");
  ASSERT_THAT(taken, SizeIs(4));
  EXPECT_FIELDS(taken[0], R"({"call":"cuLaunchKernel","taken":1000})");
  EXPECT_FALSE(taken[0].contains("allocation"));
  EXPECT_FIELDS(taken[1], R"({"call":"cuMemAlloc_v2","taken":2097152,"allocation":true})");
  EXPECT_FIELDS(taken[2], R"({"call":"cuMemFree_v2","taken":-2097152,"allocation":true})");
  EXPECT_FIELDS(taken[3], R"({"call":"cuLaunchKernel","taken":-200})");
  ASSERT_THAT(played.of("iteration"), SizeIs(1));
  const auto place = [](const nlohmann::json& event) { return event.at("seq").get<std::uint64_t>(); };
  EXPECT_LT(place(taken[1]), place(played.of("iteration")[0]));
  EXPECT_LT(place(played.of("iteration")[0]), place(taken[2]));
}

// Another process takes memory while this one is not in a call.
TEST(MemoryPass, OthersAreToldApart) {
  const Played played = play_memory(kContext + R"(
{"call":"cuStreamSynchronize","stream":0}
{"do":"others","takes":512}
{"call":"cuLaunchKernel","name":"k","params":[],"function":5,"takes":7}
)");
  const auto taken = played.of("device_memory");
  ASSERT_THAT(taken, SizeIs(2));
  EXPECT_FIELDS(taken[0], R"({"call":"","taken":512})");
  EXPECT_FIELDS(taken[1], R"({"call":"cuLaunchKernel","taken":7})");
}

// Tensors of pools and graphs are recorded as such; memory that the pools hold back does not count as taken by the
// process.
TEST(MemoryPass, PoolsHoldFreeMemory) {
  const Played played = play_memory(kContext + R"(
{"call":"cuStreamSynchronize","stream":0}
{"call":"cuMemAllocAsync","va":131072,"bytes":500,"stream":7,"pool_takes":33554432}
{"call":"cuMemFreeAsync","va":131072,"stream":7}
{"call":"cuStreamSynchronize","stream":7,"pool_takes":-33554432}
{"call":"cuStreamSynchronize","stream":7,"graph_takes":65536}
{"call":"cuStreamSynchronize","stream":7,"takes":3}
)");
  const auto taken = played.of("device_memory");
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_FIELDS(taken[0], R"({"call":"cuStreamSynchronize","taken":3})");
}

TEST(MemoryPass, EachGpuIsReadApart) {
  const Played played = play_memory(kContext + R"(
{"call":"cuStreamSynchronize","stream":0}
{"do":"device","is":-1}
{"call":"cuStreamSynchronize","stream":0}
{"do":"device","is":2}
{"call":"cuStreamSynchronize","stream":0}
{"call":"cuStreamSynchronize","stream":0,"takes":9}
{"do":"device","is":0}
{"call":"cuStreamSynchronize","stream":0}
)");
  EXPECT_THAT(played.of("free_memory"), SizeIs(2));
  const auto taken = played.of("device_memory");
  ASSERT_THAT(taken, SizeIs(1));
  EXPECT_FIELDS(taken[0], R"({"call":"cuStreamSynchronize","taken":9,"device":2})");
}

TEST(MemoryPass, ManagedMemoryIsNamed) {
  const Played played = play_memory(kContext + R"(
{"call":"cuMemAllocManaged","va":16384,"bytes":200}
{"call":"cuMemAllocManaged","va":0,"bytes":200,"result":2}
)");
  ASSERT_THAT(played.of("alloc"), SizeIs(1));
  EXPECT_FIELDS(played.of("alloc")[0], R"({"va":16384,"bytes":200,"kind":"managed"})");
}

TEST(MemoryPass, WithoutCuptiTheProgramGoesOn) {
  const Played played = play(
      kContext, {.environment = {{"FAKE_CUPTI_HOLDER", "nsys"}}, .library = UVMTRACE_MEMORY_LIBRARY, .pass = "memory"});
  EXPECT_EQ(played.exit_status, 7);
  EXPECT_THAT(played.standard_error, testing::HasSubstr("another profiler already uses CUPTI: nsys"));
  EXPECT_THAT(played.logs, IsEmpty());
}

}  // namespace
