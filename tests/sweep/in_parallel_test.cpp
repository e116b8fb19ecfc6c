// SPDX-License-Identifier: Apache-2.0
#include "sim/common/in_parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <string>
#include <vector>

#include "sim/common/error.h"

namespace uvmsim {
namespace {

TEST(InParallel, EveryNumberOnce) {
  for (const std::size_t threads : {0u, 1u, 3u, 100u}) {
    std::vector<std::atomic<int>> calls(50);
    in_parallel(calls.size(), threads, [&](std::size_t i) { ++calls[i]; });
    for (const auto& count : calls) EXPECT_EQ(count, 1) << threads;
  }
  in_parallel(0, 4, [](std::size_t) { FAIL(); });
}

// With fewer threads than this, the call would never return.
TEST(InParallel, AtTheSameTime) {
  std::barrier all(3);
  in_parallel(3, 3, [&](std::size_t) { all.arrive_and_wait(); });
}

TEST(InParallel, TheErrorOfTheLowestNumberAndNoFurtherOne) {
  std::barrier both(2);
  std::atomic<int> begun = 0;
  try {
    in_parallel(100, 2, [&](std::size_t i) {
      ++begun;
      if (i < 2) both.arrive_and_wait();  // 0 and 1 fail together
      throw_input_error("number {}", i);
    });
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()), "number 0");
  }
  EXPECT_LE(begun, 3);
}

TEST(InParallel, ThereIsAtLeastOneCpu) { EXPECT_GE(available_cpus(), 1u); }

}  // namespace
}  // namespace uvmsim
