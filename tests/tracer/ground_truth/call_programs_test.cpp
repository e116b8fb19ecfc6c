// SPDX-License-Identifier: Apache-2.0
// The programs of `uvm_experiments --calls`: the list, and the line that a run of one produces.
#include "tracer/ground_truth/call_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/formats/json.h"
#include "tracer/ground_truth/experiment.h"

namespace uvmtrace::ground_truth {
namespace {

TEST(CallPrograms, EachHasItsNameAndStaysWithinItsMemory) {
  std::set<std::string> names;
  for (const CallProgram& program : call_programs()) {
    EXPECT_TRUE(names.insert(program.name).second) << program.name;
    ASSERT_FALSE(program.steps.empty()) << program.name;
    for (const Step& step : program.steps) {
      EXPECT_LE(step.part.offset + step.part.bytes, step.part.each == 0 ? program.bytes : step.part.each)
          << program.name;
      EXPECT_EQ(step.act == Act::kFree, &step == &program.steps.back() && program.name.substr(0, 5) == "free/")
          << program.name;
      if (step.act == Act::kTouch) {
        EXPECT_LE(step.count * kPageBytes, program.bytes) << program.name;
      }
    }
  }
}

// The list has every kind of call in both directions, on an idle stream and behind a kernel.
TEST(CallPrograms, CoverTheKindsOfCalls) {
  std::set<std::string> kinds;
  for (const CallProgram& program : call_programs()) {
    const std::size_t state = program.name.find('/');
    const std::size_t company = program.name.find('/', state + 1);
    kinds.insert(program.name.substr(0, state) + " " +
                 program.name.substr(company + 1, program.name.find('/', company + 1) - company - 1));
  }
  for (const char* call : {"prefetch_gpu", "prefetch_host", "memset", "memset_async", "memcpy_pinned>managed",
                           "memcpy_async_managed>pageable", "free", "advise_set_read_mostly", "advise_prefer_host",
                           "advise_accessed_by_gpu"}) {
    EXPECT_TRUE(kinds.contains(std::string(call) + " idle")) << call;
    EXPECT_TRUE(kinds.contains(std::string(call) + " behind")) << call;
  }
}

TEST(CallPrograms, ALineHoldsEveryStepAndItsTimes) {
  for (const CallProgram& program : call_programs()) {
    CallTimes times;
    times.allocate_us = 1.5;
    for (std::size_t i = 0; i < program.steps.size(); ++i) times.steps.push_back({static_cast<double>(i), -1});
    const std::string line = to_line(program, times, 3);
    ASSERT_EQ(line.back(), '\n');
    const auto json = uvmsim::parse_json_line(line);
    EXPECT_EQ(json["program"], program.name);
    EXPECT_EQ(json["pass"], 3);
    ASSERT_EQ(json["steps"].size(), program.steps.size()) << program.name;
    for (std::size_t i = 0; i < program.steps.size(); ++i) EXPECT_EQ(json["steps"][i]["us"], i) << program.name;
  }
}

}  // namespace
}  // namespace uvmtrace::ground_truth
