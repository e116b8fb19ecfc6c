// SPDX-License-Identifier: Apache-2.0
// The log's format: a round trip, truncated logs, and files that are no logs; and the summary of a hand-made log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/common/error.h"
#include "sim/trace/zstd_stream.h"
#include "tests/report/scratch_folder.h"
#include "tests/tracer/faults/entries.h"
#include "tracer/faults/fault_log_reader.h"
#include "tracer/faults/fault_summary.h"

namespace uvmtrace::faults {
namespace {

using ::testing::HasSubstr;

const std::string kHeader =
    R"({"t":"header","version":1,"pass":"faults","pid":42,"program":["./bfs","x"],"gpu":"H","driver":"580"})"
    "\n";

RawFault fault_of(std::uint64_t gpu_ns, std::uint32_t batch, std::uint64_t page, std::uint16_t client = 0) {
  RawFault fault;
  fault.gpu_ns = gpu_ns;
  fault.batch = batch;
  fault.address = page * 4096;
  fault.gpu = 1;
  fault.client = client;
  fault.access = kAccessWrite;
  fault.client_type = kClientGpc;
  return fault;
}

DriverEvents some_events() {
  DriverEvents events;
  events.faults = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 1}, {10, 20, 30, 40, 50, 60, 70, 80, 90, 1}};
  events.replays = {{5, 6, 7, 8}};
  events.migrations = {{1, 2, 3, 4, 5, 6, 7, 8, 2}};
  return events;
}

std::string section(const DriverEvents& events, const std::vector<BlockTimes>& blocks = {}, std::uint64_t dropped = 0,
                    const char* name = "process 42") {
  JsonLine line("events");
  line.text("name", name).text("pattern", "walk");
  std::string out;
  add_section(std::move(line), events, blocks, dropped, out);
  return out;
}

class FaultLog : public ::testing::Test {
 protected:
  std::vector<ProcessFaults> read(const std::string& bytes) {
    folder.write("log", bytes);
    return read_fault_log(folder.path("log"));
  }
  void expect_error(const std::string& bytes, const std::string& words) {
    try {
      read(bytes);
      FAIL() << "accepted: " << bytes.substr(0, 200);
    } catch (const uvmsim::InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(folder.path("log")));
      EXPECT_THAT(error.what(), HasSubstr(words));
    }
  }

  const uvmsim::ScratchFolder folder;
};

TEST_F(FaultLog, ComesBackAsItWasWritten) {
  const std::string bytes = kHeader + section(some_events(), {{100, 200, 3}, {101, 201, 4}}, 5) + end_line(5, "");
  const auto check = [](const std::vector<ProcessFaults>& processes) {
    ASSERT_EQ(processes.size(), 1u);
    const ProcessFaults& process = processes[0];
    EXPECT_EQ(process.pid, 42u);
    EXPECT_EQ(process.program, "./bfs x");
    EXPECT_TRUE(process.complete);
    EXPECT_EQ(process.dropped, 5u);
    ASSERT_EQ(process.sections.size(), 1u);
    const FaultSection& read = process.sections[0];
    const DriverEvents wanted = some_events();
    ASSERT_EQ(read.events.faults.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(entry_of(read.events.faults[i]), entry_of(wanted.faults[i]));
    EXPECT_EQ(entry_of(read.events.replays.at(0)), entry_of(wanted.replays[0]));
    EXPECT_EQ(entry_of(read.events.migrations.at(0)), entry_of(wanted.migrations[0]));
    ASSERT_EQ(read.blocks.size(), 2u);
    EXPECT_EQ(read.blocks[1].begin_ns, 101u);
    EXPECT_EQ(read.blocks[1].end_ns, 201u);
    EXPECT_EQ(read.blocks[1].sm, 4u);
  };
  const std::vector<ProcessFaults> plain = read(bytes);
  check(plain);
  uvmsim::AtomicFile file(folder.path("packed"));
  write_fault_log(plain, file);
  check(read_fault_log(folder.path("packed")));
}

TEST_F(FaultLog, SectionsOfOneNameAreJoined) {
  std::vector<ProcessFaults> processes =
      read(kHeader + section(some_events(), {}, 1) + section(some_events(), {}, 2) +
           section(some_events(), {}, 0, "relu") + section(some_events()) + end_line(3, ""));
  processes.at(0).join();
  ASSERT_EQ(processes[0].sections.size(), 3u);
  EXPECT_EQ(processes[0].sections[1].name, "relu");
  EXPECT_EQ(processes[0].sections[0].events.faults.size(), 4u);
  EXPECT_EQ(processes[0].sections[0].dropped, 3u);
  EXPECT_EQ(processes[0].dropped, 3u);
}

TEST_F(FaultLog, WhatStopsInTheMiddleKeepsItsWholeSections) {
  const std::string one = kHeader + section(some_events());
  const std::string whole = one + section(some_events()) + end_line(0, "");
  for (std::size_t bytes = kHeader.size(); bytes < whole.size(); bytes += 7) {
    const std::vector<ProcessFaults> processes = read(whole.substr(0, bytes));
    ASSERT_EQ(processes.size(), 1u);
    EXPECT_FALSE(processes[0].complete);
    EXPECT_GE(processes[0].sections.size(), bytes >= one.size() ? 1u : 0u);
    EXPECT_LE(processes[0].sections.size(), 2u);
  }
  // The log has a process that was killed, and one after it.
  const std::vector<ProcessFaults> two = read(one + whole);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_FALSE(two[0].complete);
  EXPECT_TRUE(two[1].complete);
}

TEST_F(FaultLog, RefusesWhatIsNoLog) {
  expect_error("", "is not a log of raw faults");
  expect_error("hello\n", "is not a log of raw faults");
  expect_error("[1]\n", "");
  expect_error("{}\n", "does not begin with the header");
  expect_error(section(some_events()), "does not begin with the header");
  expect_error(R"({"t":"header","version":1,"pass":"timing"})"
               "\n",
               "another pass");
  expect_error(R"({"t":"header","version":2,"pass":"faults"})"
               "\n",
               "version 2; this program reads version 1");
  expect_error(kHeader + "{\"t\":\"launch\"}\n", "'launch' where it does not belong");
  expect_error(kHeader + end_line(0, "") + end_line(0, ""), "'end' where it does not belong");
  expect_error(kHeader + R"({"t":"events","name":"x","replays":0,"migrations":0,"blocks":0,"dropped":0})"
                         "\n",
               "faults");
  for (const char* rows : {"-1", "1.5", "\"7\"", "99999999999999999999", "4294967297"}) {
    expect_error(kHeader + R"({"t":"events","name":"x","faults":)" + rows +
                     R"(,"replays":0,"migrations":0,"blocks":0,"dropped":0})"
                     "\n",
                 "faults");
  }
  expect_error(kHeader + std::string(5 << 20, 'x'), "longer than");
  std::string damaged;
  {
    uvmsim::AtomicFile file(folder.path("packed"));
    write_fault_log(read(kHeader + section(some_events()) + end_line(0, "")), file);
    damaged = folder.read("packed");
  }
  damaged[damaged.size() - 5] = static_cast<char>(damaged[damaged.size() - 5] ^ 1);
  expect_error(damaged, "");
}

TEST_F(FaultLog, AWrongCountCostsNoMemory) {
  const std::vector<ProcessFaults> processes =
      read(kHeader +
           R"({"t":"events","name":"x","faults":4294967296,"replays":0,"migrations":0,"blocks":0,"dropped":0})"
           "\n" +
           std::string(1000, 'x'));
  EXPECT_TRUE(processes.at(0).sections.empty());
  EXPECT_FALSE(processes[0].complete);
}

TEST_F(FaultLog, ASmallFileDoesNotBecomeALargeOne) {
  const std::string head =
      kHeader + R"({"t":"events","name":"x","faults":20000000,"replays":0,"migrations":0,"blocks":0,"dropped":0})"
                "\n";
  std::string packed;
  uvmsim::trace::ZstdEncoder(1).compress(head + std::string(std::size_t{200} << 20, '\0'), packed);
  expect_error(packed, "expands to more than 500 times its size");
}

TEST(FaultSummaries, QuartilesAreRoundedDown) {
  EXPECT_EQ(quartiles_of({}), (Quartiles{0, 0, 0, 0}));
  EXPECT_EQ(quartiles_of({7}), (Quartiles{1, 7, 7, 7}));
  EXPECT_EQ(quartiles_of({4, 3, 2, 1}), (Quartiles{4, 1, 2, 3}));
  EXPECT_EQ(quartiles_of({5, 4, 3, 2, 1}), (Quartiles{5, 2, 3, 4}));
}

// The log has three batches: 256 faults, one every 20 ns, of 4 SMs on 128 pages; after the replay at 100,000 a batch of
// 101 that ends 1,770 ns later; and one whose first fault follows after 20 ns.
TEST(FaultSummaries, ClosedFormOfALogMadeByHand) {
  DriverEvents events;
  for (std::uint32_t i = 0; i < 256; ++i) {
    events.faults.push_back(fault_of(1000 + 20 * i, 1, i / 2, static_cast<std::uint16_t>(i % 4)));
  }
  events.replays.push_back({100000, 0, 1, 1});
  for (std::uint32_t i = 0; i < 101; ++i) events.faults.push_back(fault_of(99770 + 20 * i, 2, 1000 + i, 9));
  events.faults.push_back(fault_of(101790, 3, 5));
  RawFault copy_engine = fault_of(7, 9, 9);
  copy_engine.client_type = kClientHub;
  events.faults.push_back(copy_engine);
  events.faults.back().access = kAccessRead;
  events.migrations = {{0, 0, 0, 0, 0, 4096, 0, 1, 2}, {0, 0, 0, 0, 0, 61440, 0, 1, 3}, {0, 0, 0, 0, 0, 5, 1, 0, 200}};
  events.unknown = 2;
  const FaultSummary summary = summarize(events);
  EXPECT_EQ(summary.raw_faults, 358u);
  EXPECT_EQ(summary.writes, 358u);
  EXPECT_EQ(summary.hub_faults, 1u);
  EXPECT_EQ(summary.gpus, 1u);
  EXPECT_EQ(summary.sms, 5u);
  EXPECT_EQ(summary.batches, 3u);
  EXPECT_EQ(summary.full_batches, 1u);
  EXPECT_EQ(summary.duplicates, 128u);
  EXPECT_EQ(summary.raw_per_batch, (Quartiles{3, 1, 101, 101}));
  EXPECT_EQ(summary.pages_per_batch, (Quartiles{3, 1, 101, 101}));
  EXPECT_EQ(summary.sms_per_batch, (Quartiles{3, 1, 1, 1}));
  EXPECT_EQ(summary.spacing_ps, (Quartiles{2, 20000, 20000, 20000}));
  EXPECT_EQ(summary.put_ns, (Quartiles{1, 1780, 1780, 1780}));
  EXPECT_EQ(summary.to_gpu[2].bytes, 4096u);
  EXPECT_EQ(summary.to_gpu[3].bytes, 61440u);
  EXPECT_EQ(summary.to_host[0].count, 1u);
  const std::string text = summary_text(summary, 3);
  EXPECT_THAT(text, HasSubstr("358: 0 reads, 358 writes, 0 atomics; by 5 SMs\n"));
  EXPECT_THAT(text, HasSubstr("3, 33.3 % of them with 256 raw faults or more; 1 replays\n"));
  EXPECT_THAT(text, HasSubstr("20.0 ns per raw fault (20.0 to 20.0) in 2 bursts\n"));
  EXPECT_THAT(text, HasSubstr("35.8 % of the raw faults"));
  EXPECT_THAT(text, HasSubstr("dropped      3 events"));
  EXPECT_THAT(summary_json(summary, 3),
              HasSubstr("\"put_ns\":{\"count\":1,\"low\":1780,\"median\":1780,\"high\":1780}"));
}

TEST(FaultSummaries, NothingIsNothing) {
  const FaultSummary summary = summarize({});
  EXPECT_EQ(summary.batches, 0u);
  EXPECT_THAT(summary_text(summary, 0), HasSubstr("dropped      nothing\n"));
}

}  // namespace
}  // namespace uvmtrace::faults
