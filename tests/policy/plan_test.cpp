// SPDX-License-Identifier: Apache-2.0
// DeepUM's tables against sequences worked out by hand, and the predictions of the policy from them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "policies/plan/correlation_tables.h"
#include "policies/plan/kernel_blocks.h"
#include "sim/common/random.h"
#include "sim/policy/registry.h"
#include "tests/policy/plan_machine.h"

namespace uvmsim::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::uint64_t> values(const std::vector<BlockIndex>& list) {
  std::vector<std::uint64_t> out;
  for (const BlockIndex b : list) out.push_back(b.value);
  return out;
}

BlockTable learned(const std::vector<BlockIndex>& faults, const BlockTable::Shape& shape = {}) {
  BlockTable table(shape);
  for (const BlockIndex b : faults) table.record(b);
  return table;
}

TEST(ExecutionTable, TellsKernelsThatOccurTwiceApartByWhatRanBefore) {
  ExecutionTable table;
  ExecutionTable::History history{};
  // One iteration: 1 2 3 4 2 5; after 2 comes 3 or 5.
  for (int iteration = 0; iteration < 2; ++iteration) {
    for (const ExecutionId id : {1u, 2u, 3u, 4u, 2u, 5u}) {
      if (history.back() != 0) table.record(history, id);
      ExecutionTable::append(history, id);
    }
  }
  EXPECT_EQ(table.predict({4, 2, 5, 1}), 2u);
  EXPECT_EQ(table.predict({2, 5, 1, 2}), 3u);
  EXPECT_EQ(table.predict({2, 3, 4, 2}), 5u);
  EXPECT_EQ(table.predict({9, 9, 9, 4}), 2u);  // for an unknown history the last successor is predicted
  EXPECT_EQ(table.predict({1, 2, 3, 7}), std::nullopt);
}

TEST(BlockTable, TheChainIsTheOrderOfTheFaults) {
  const BlockTable table = learned(blocks({7, 3, 9, 8}));
  EXPECT_EQ(table.start()->value, 7u);
  EXPECT_EQ(table.end()->value, 8u);
  EXPECT_THAT(values(table.chain()), ElementsAre(7, 3, 9, 8));
  EXPECT_THAT(values(table.chain(BlockIndex(9))), ElementsAre(9, 8));
  EXPECT_THAT(values(learned({}).chain()), IsEmpty());
}

TEST(BlockTable, ALateFaultDoesNotTearTheChainApart) {
  BlockTable table = learned(blocks({1, 2, 3, 4}));
  table.restart();
  table.record(BlockIndex(3));  // all others were there in time
  EXPECT_THAT(values(table.chain()), ElementsAre(1, 2, 3, 4));
  table.record(BlockIndex(6));  // a new block follows the one before it
  EXPECT_THAT(values(table.chain()), ElementsAre(1, 2, 3, 6, 4));
  table.restart();
  table.record(BlockIndex(5));  // a new block that is the first of its run follows the last new block
  EXPECT_THAT(values(table.chain()), ElementsAre(1, 2, 3, 6, 4, 5));
}

TEST(BlockTable, ForgetsTheOldestSuccessorAndTheRowUsedLeastRecently) {
  // 1 is followed by 2, 3 and 4 in turn; two successors are kept.
  BlockTable table = learned({}, {.rows = 64, .ways = 2, .successors = 2});
  for (const std::uint64_t next : {2, 3, 4}) {
    table.restart();
    table.record(BlockIndex(1));
    table.record(BlockIndex(next));
  }
  EXPECT_THAT(values(table.chain()), ElementsAre(1, 4, 3));
  // One set has two rows: the row of 1 is replaced when 3 is recorded.
  table = learned(blocks({1, 2, 3}), {.rows = 2, .ways = 2, .successors = 4});
  EXPECT_THAT(values(table.chain()), ElementsAre(1));
  EXPECT_THAT(values(table.chain(BlockIndex(2))), ElementsAre(2, 3));
}

TEST(DeepUm, APeriodicProgramFaultsInItsFirstIterationOnly) {
  const auto planner = built_ins()->create<Planner>("deepum", {{"reserve_chunks", "1"}, {"degree", "1"}}, 1, 8);
  Machine machine(*planner, 8);  // of 12 blocks
  for (int iteration = 0; iteration < 4; ++iteration) {
    const unsigned faults = machine.run("a", blocks({0, 1, 2})) + machine.run("b", blocks({3, 4, 5})) +
                            machine.run("c", blocks({6, 7, 8})) + machine.run("d", blocks({9, 10, 11}));
    EXPECT_EQ(faults, iteration == 0 ? 12u : 0u) << iteration;
  }
}

TEST(DeepUm, WithoutPrefetchesItStillFaults) {
  const auto planner = built_ins()->create<Planner>("deepum", {{"prefetch", "false"}}, 1, 8);
  Machine machine(*planner, 8);
  unsigned faults = 0;
  for (int iteration = 0; iteration < 3; ++iteration) {
    faults = machine.run("a", blocks({0, 1, 2, 3, 4})) + machine.run("b", blocks({5, 6, 7, 8, 9}));
  }
  EXPECT_GT(faults, 0u);
}

TEST(DeepUm, ChainsAsManyKernelsAheadAsItsDegree) {
  for (const std::size_t degree : {0u, 1u, 2u}) {
    const auto planner =
        built_ins()->create<Planner>("deepum", {{"degree", std::to_string(degree)}, {"reserve_chunks", "0"}}, 1, 64);
    Machine machine(*planner, 64);
    for (const char* name : {"a", "b", "c", "d", "a"}) {
      const std::uint64_t first = 10 * static_cast<std::uint64_t>(*name - 'a');
      machine.run(name, blocks({first, first + 1}));
    }
    // All blocks are resident; then all are evicted, and the next kernel begins.
    for (const std::uint64_t b : {0, 1, 10, 11, 20, 21, 30, 31}) planner->on_released(BlockIndex(b));
    Machine empty(*planner, 64);
    planner->on_begin({.number = 5, .name = "b"});
    const std::vector<std::int64_t> all{10, 11, 20, 21, 30, 31};
    EXPECT_EQ(empty.idle(), std::vector<std::int64_t>(all.begin(), all.begin() + 2 + 2 * static_cast<long>(degree)));
  }
}

TEST(DeepUm, WhatTheNextKernelsNeedDoesNotGiveWay) {
  const auto planner = built_ins()->create<Planner>("deepum", {{"degree", "1"}, {"reserve_chunks", "0"}}, 1, 6);
  Machine machine(*planner, 6);
  for (int i = 0; i < 3; ++i) {
    machine.run("a", blocks({0, 1}));
    machine.run("b", blocks({2, 3}));
    machine.run("c", blocks({4, 5}));
  }
  planner->on_begin({.number = 9, .name = "a"});  // b is next, c was fetched last
  EXPECT_EQ(planner->victim(machine).block.value, 4u);
}

TEST(DeepUm, BlocksInWhichNothingLivesGoWithoutACopy) {
  for (const bool invalidate : {true, false}) {
    const auto planner = built_ins()->create<Planner>("deepum", {{"invalidate", invalidate ? "true" : "false"}}, 1, 4);
    Machine machine(*planner, 4);
    machine.nothing_in(0);
    machine.run("a", blocks({0, 1}));
    machine.run("b", blocks({2, 3}));
    EXPECT_EQ(machine.drops, invalidate ? 1u : 0u);
  }
}

// With two streams, blocks that a running kernel needs stay, however many later kernels begin and end meanwhile.
TEST(DeepUmIdeal, AKernelIsExpectedUntilItIsOver) {
  const auto planner = built_ins()->create<Planner>("deepum_ideal", {{"degree", "1"}, {"reserve_chunks", "16"}}, 1, 2);
  Machine machine(*planner, 2);
  const BlockRun runs[] = {{BlockIndex(7), 1}, {BlockIndex(8), 1}};
  const KernelArgument older[] = {{0, {std::span(runs, 1), 0, kPagesPerBlock}}},
                       younger[] = {{0, {std::span(runs + 1, 1), 0, kPagesPerBlock}}};
  const KernelLaunch launches[] = {{.number = 0, .name = "older", .arguments = older},
                                   {.number = 1, .name = "younger", .arguments = younger},
                                   {.number = 2, .name = "younger", .arguments = younger}};
  for (const KernelLaunch& launch : launches) planner->on_launched(launch);
  planner->on_begin(launches[0]);
  planner->on_begin(launches[1]);
  EXPECT_EQ(machine.idle(), (std::vector<std::int64_t>{7, 8}));
  planner->on_end(1);
  planner->on_begin(launches[2]);
  EXPECT_THAT(machine.idle(), IsEmpty());  // too little memory is free, but no block may be evicted
  planner->on_end(2);
  planner->on_end(0);
  const KernelLaunch last{.number = 3, .name = "last"};
  planner->on_launched(last);
  planner->on_begin(last);
  EXPECT_EQ(machine.idle(), (std::vector<std::int64_t>{-1 - 7, -1 - 8}));
}

TEST(ArgumentMemory, HasThePagesOfEachBlockInTheOrderOfTheObject) {
  const std::vector<BlockRun> runs{{BlockIndex(5), 2}, {BlockIndex(1), 1}};
  const ArgumentMemory memory(runs, 500, 2 * kPagesPerBlock + 3);
  EXPECT_EQ(memory.size(), 3u);
  std::vector<std::int64_t> blocks;
  std::vector<PageMask> pages;
  for (const BlockPages& part : memory) {
    blocks.push_back(static_cast<std::int64_t>(part.block.value));
    pages.push_back(part.pages);
  }
  EXPECT_THAT(blocks, ElementsAre(5, 6, 1));
  EXPECT_THAT(pages, ElementsAre(PageMask::range(500, 12), PageMask::all(), PageMask::range(0, 3)));
  EXPECT_EQ(ArgumentMemory().begin(), ArgumentMemory().end());
}

template <class Blocks>
std::vector<std::uint64_t> order_of(const Blocks& blocks) {
  std::vector<std::uint64_t> order;
  auto place = blocks.begin();
  for (; const auto block = blocks.at(place); blocks.advance(place)) order.push_back(block->value);
  return order;
}

template <class Blocks>
std::vector<std::uint64_t> in_runs(const Blocks& blocks) {
  std::vector<std::uint64_t> all;
  blocks.for_each_run([&](const BlockRun& run) {
    for (std::uint64_t i = 0; i < run.count; ++i) all.push_back(run.first.value + i);
  });
  std::sort(all.begin(), all.end());
  return all;
}

TEST(ArgumentBlocks, OfAllArgumentsTheFirstBlocksComeFirst) {
  const std::vector<BlockRun> first{{BlockIndex(1), 4}};
  const std::vector<BlockRun> second{{BlockIndex(9), 1}, {BlockIndex(2), 1}};
  const std::vector<KernelArgument> arguments{{0, {first, 0, 4 * kPagesPerBlock}},
                                              {0, {second, 0, 2 * kPagesPerBlock}}};
  EXPECT_THAT(order_of(ArgumentBlocks({.name = "k", .arguments = arguments})), ElementsAre(1, 9, 2, 3, 4));
}

// All blocks in a list, sorted by their positions, without those that occur again.
std::vector<std::uint64_t> sorted_blocks(const std::vector<KernelArgument>& arguments) {
  struct Part {
    std::uint64_t position, size, block;
  };
  std::vector<Part> parts;
  for (const KernelArgument& argument : arguments) {
    std::uint64_t position = 0;
    for (const BlockPages& part : argument.memory) {
      parts.push_back({position++, argument.memory.size(), part.block.value});
    }
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.position * b.size < b.position * a.size; });
  std::vector<std::uint64_t> blocks;
  for (const Part& part : parts) {
    if (std::find(blocks.begin(), blocks.end(), part.block) == blocks.end()) blocks.push_back(part.block);
  }
  return blocks;
}

// Arguments overlap, as tensors in one segment do, and lie in several pieces.
TEST(ArgumentBlocks, AreInTheOrderOfASortedList) {
  Random random(29);
  for (unsigned instance = 0; instance < 2000; ++instance) {
    std::vector<std::vector<BlockRun>> runs(random.below(6));
    std::vector<KernelArgument> arguments;
    for (std::vector<BlockRun>& each : runs) {
      std::uint64_t blocks = 0;
      for (std::uint64_t from = 0; from < 40; from += 20) {  // of the upper half first, so that runs do not ascend
        if (random.below(3) == 0) continue;
        const std::uint64_t first = random.below(20), count = random.below(20 - first) + 1;
        each.push_back({BlockIndex(20 - from + first), count});
        blocks += count;
      }
      arguments.push_back({0, {each, 0, blocks * kPagesPerBlock}});
    }
    const ArgumentBlocks blocks({.name = "k", .arguments = arguments});
    std::vector<std::uint64_t> expected = sorted_blocks(arguments);
    ASSERT_EQ(order_of(blocks), expected) << instance;
    std::sort(expected.begin(), expected.end());
    ASSERT_EQ(in_runs(blocks), expected) << instance;
  }
}

TEST(BlockChain, KeepsItsOrderAndHasRuns) {
  BlockChain chain(blocks({5, 3, 9, 4}));
  chain.append(BlockIndex(1));
  EXPECT_THAT(order_of(chain), ElementsAre(5, 3, 9, 4, 1));
  EXPECT_THAT(in_runs(chain), ElementsAre(1, 3, 4, 5, 9));
}

// A kernel whose argument is as large as the address space costs runs, not blocks, however many of it are launched.
TEST(DeepUmIdeal, BringsAsMuchAsThereIsRoomForOfAHugeObject) {
  const auto planner = built_ins()->create<Planner>("deepum_ideal", {{"reserve_chunks", "0"}}, 1, 4);
  Machine machine(*planner, 4);
  const BlockRun run{BlockIndex(10), std::uint64_t{1} << 20};
  const KernelArgument argument{0, {std::span(&run, 1), 0, run.count * kPagesPerBlock}};
  for (std::uint64_t number = 0; number < 4; ++number) {
    planner->on_launched({.number = number, .name = "k", .arguments = std::span(&argument, 1)});
  }
  planner->on_begin({.number = 0, .name = "k", .arguments = std::span(&argument, 1)});
  EXPECT_EQ(machine.idle(), (std::vector<std::int64_t>{10, 11, 12, 13}));
  planner->on_released(BlockIndex(12));
  EXPECT_EQ(planner->victim(machine).kind, PlanCommand::Kind::kNone);  // all of it is needed
}

}  // namespace
}  // namespace uvmsim::policy
