// SPDX-License-Identifier: Apache-2.0
// Our own eBPF policies decide in the same way as the built-ins with the same rule.
#include <gtest/gtest.h>

#include <vector>

#include "sim/common/random.h"
#include "tests/bounds/random_program.h"
#include "tests/bpf/built_policy.h"
#include "tests/engine/program.h"
#include "tests/policy/chunks.h"
#include "tests/policy/faults.h"
#include "tests/policy/page_cache.h"

namespace uvmsim::policy {
namespace {

uvmsim::Program some_program(std::uint64_t seed) {
  Random random(seed);
  RandomProgramOptions options;
  options.largest_object_pages = 1200;
  options.records = 16;
  options.streams = seed % 4 == 0;
  options.advice = seed % 2 == 0;
  return random_program(random, options);
}

std::vector<std::uint64_t> numbers_of(const RunResult& result) {
  std::vector<std::uint64_t> numbers = {static_cast<std::uint64_t>(result.total.value)};
  for_each_counter(result.counters, [&](const char*, std::uint64_t value) { numbers.push_back(value); });
  return numbers;
}

PageMask random_pages(Random& random, unsigned first, unsigned end, std::uint64_t one_in) {
  PageMask pages;
  for (unsigned page = first; page < end; ++page) {
    if (random.below(one_in) == 0) pages.set(page);
  }
  return pages;
}

TEST(BpfTree, AnswersAsTheBuiltInOnRandomBlocks) {
  const auto registry = shipped_bpf_policy("tree");
  for (const char* percent : {"0", "25", "51", "75", "100"}) {
    const auto built_in = registry->create<Prefetcher>("tree", {{"threshold", percent}}, 1, 16);
    const auto bpf = registry->create<Prefetcher>("bpf_tree", {{"threshold_0", percent}}, 1, 16);
    Random random(7);
    for (int i = 0; i < 400; ++i) {
      SCOPED_TRACE(i);
      BlockUnderTest block{*built_in};
      if (i % 3 == 0) block.first_page = static_cast<unsigned>(random.below(400));
      if (i % 2 == 0) {
        block.end_page = block.first_page + 1 + static_cast<unsigned>(random.below(512 - block.first_page));
      }
      const PageMask faulted = random_pages(random, block.first_page, block.end_page, 1 + random.below(200)) |
                               PageMask::range(block.first_page, 1);
      block.resident = random_pages(random, block.first_page, block.end_page, 1 + random.below(9)) - faulted;
      if (i % 5 == 0) block.thrashing = random_pages(random, block.first_page, block.end_page, 20);
      const PageMask expected = block.added(faulted);
      const BlockUnderTest same{*bpf, block.first_page, block.end_page, block.resident, block.thrashing};
      ASSERT_TRUE(same.added(faulted) == expected);
    }
  }
}

TEST(BpfTree, RunsRandomProgramsAsTheBuiltIn) {
  const auto registry = shipped_bpf_policy("tree");
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    const uvmsim::Program program = some_program(seed);
    RunOptions options = options_with(2 + seed % 6);
    options.registry = registry;
    const std::string percent = std::to_string(seed * 13 % 101);
    options.prefetch = {"tree", {{"threshold", percent}}};
    const std::vector<std::uint64_t> expected = numbers_of(program.run(options));
    options.prefetch = {"bpf_tree", {{"threshold_0", percent}}};
    ASSERT_EQ(numbers_of(program.run(options)), expected);
  }
}

// The value of --map is the default of the parameter; a process has a threshold of its own.
TEST(BpfTree, TakesThresholdsOfProcesses) {
  const auto registry = shipped_bpf_policy("tree", "--map 'threshold[0]=75' --map 'process_threshold[2]=0'");
  const auto bpf = registry->create<Prefetcher>("bpf_tree", {}, 1, 16);
  const PageMask resident = PageMask::range(0, 64), faulted = PageMask::range(64, 1);
  const PageMask none;
  const auto pages = [&](std::uint32_t process) {
    return bpf
        ->prefetch(
            {.block = BlockIndex(7), .resident = resident, .faulted = faulted, .thrashing = none, .process = process})
        .count();
  };
  EXPECT_EQ(pages(0), 15u);   // process 0, PID 1: 80 of 128 pages are less than 75 %
  EXPECT_EQ(pages(1), 511u);  // PID 2: all pages
}

// Passes the same events to two evictors; the second one receives a use as a touch.
class TwoEvictors {
 public:
  TwoEvictors(std::shared_ptr<Evictor> bpf, std::shared_ptr<Evictor> built_in, bool uses_are_touches,
              std::uint32_t chunks)
      : bpf_(std::move(bpf)), built_in_(std::move(built_in)), uses_are_touches_(uses_are_touches), chunks_(chunks) {
    for (std::uint32_t i = chunks; i-- > 0;) free_.push_back(ChunkId{i});
  }

  void bring(std::uint64_t content) {
    if (free_.empty()) evict(content);
    const ChunkId chunk = free_.back();
    free_.pop_back();
    for (Evictor* evictor : {bpf_.get(), built_in_.get()}) {
      evictor->on_allocated(chunk, ContentIndex(content));
      evictor->on_migrated(chunk);
    }
    used_.push_back(chunk);
  }
  void use(std::uint64_t which) {
    if (used_.empty()) return;
    const ChunkId chunk = used_[which % used_.size()];
    bpf_->on_migrated(chunk);
    if (uses_are_touches_) {
      built_in_->on_touched(chunk);
    } else {
      built_in_->on_migrated(chunk);
    }
  }
  void empty(std::uint64_t which) {
    if (used_.empty()) return;
    for (Evictor* evictor : {bpf_.get(), built_in_.get()}) evictor->on_emptied(used_[which % used_.size()]);
    used_.erase(used_.begin() + static_cast<std::ptrdiff_t>(which % used_.size()));
  }
  void release(std::uint64_t which) {
    if (used_.empty()) return;
    leave(used_[which % used_.size()]);
  }

 private:
  void evict(std::uint64_t incoming) {
    chunks_.next = ContentIndex(incoming);
    const ChunkId expected = built_in_->select_victim(chunks_);
    const ChunkId victim = bpf_->select_victim(chunks_);
    ASSERT_EQ(victim, expected);
    leave(victim);
  }
  void leave(ChunkId chunk) {
    for (Evictor* evictor : {bpf_.get(), built_in_.get()}) evictor->on_released(chunk);
    std::erase(used_, chunk);
    free_.push_back(chunk);
  }

  std::shared_ptr<Evictor> bpf_, built_in_;
  bool uses_are_touches_;
  FakeChunks chunks_;
  std::vector<ChunkId> free_, used_;  // used: chunks with pages
};

// make(random, seed, chunks) creates both; act(both, what, which) passes one of twenty events to them.
template <class Make, class Act>
void evict_alike_on_random_histories(Make&& make, Act&& act) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto chunks = static_cast<std::uint32_t>(1 + random.below(40));
    TwoEvictors both = make(random, seed, chunks);
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t what = random.below(20), which = random.next();
      act(both, what, which);
      ASSERT_FALSE(::testing::Test::HasFailure());
    }
  }
}

TEST(BpfMru, EvictsAsTheBuiltInOnRandomHistories) {
  const auto registry = shipped_bpf_policy("mru");
  evict_alike_on_random_histories(
      [&](Random& random, std::uint64_t seed, std::uint32_t chunks) {
        const std::string spare = std::to_string(seed % 3 == 0 ? random.below(50) : 0);
        return TwoEvictors(registry->create<Evictor>("bpf_mru", {{"spare_0", spare}}, 1, chunks),
                           registry->create<Evictor>("mru", {{"spare", spare}}, 1, chunks), false, chunks);
      },
      [](TwoEvictors& both, std::uint64_t what, std::uint64_t which) {
        if (what < 10) both.bring(which);
        if (what >= 10 && what < 18) both.use(which);
        if (what == 18) both.empty(which);
        if (what == 19) both.release(which);
      });
}

TEST(BpfSlru, EvictsAsTheBuiltInOnRandomHistories) {
  const auto registry = shipped_bpf_policy("slru");
  evict_alike_on_random_histories(
      [&](Random& random, std::uint64_t, std::uint32_t chunks) {
        const std::string segments = std::to_string(1 + random.below(6));
        return TwoEvictors(registry->create<Evictor>(
                               "bpf_slru", {{"config_0", segments}, {"config_1", std::to_string(chunks)}}, 1, chunks),
                           registry->create<Evictor>("slru", {{"segments", segments}}, 1, chunks), true, chunks);
      },
      [](TwoEvictors& both, std::uint64_t what, std::uint64_t which) {
        if (what < 10) {
          both.bring(which);
        } else {
          both.use(which);
        }
      });
}

// If every use is reported, which no GPU does, there are as few misses as with Belady's MIN. If the driver is told only
// of misses, the first chunks stay, and one place takes all others.
TEST(BpfMru, MissesAsRarelyAsTheOptimumOnACyclicScan) {
  const auto registry = shipped_bpf_policy("mru");
  constexpr std::uint32_t kFrames = 8;
  constexpr std::uint64_t kContents = 12, kRounds = 5;
  std::vector<std::uint64_t> scan;
  for (std::uint64_t i = 0; i < kRounds * kContents; ++i) scan.push_back(i % kContents);
  Future future = stream_future(scan);
  PageCache optimum(registry->find(Slot::kEvict, "min"), {}, kFrames, 1, &future);
  PageCache driver(registry->find(Slot::kEvict, "bpf_mru"), {}, kFrames);
  for (const std::uint64_t content : scan) {
    optimum.access(content);
    driver.access(content);
  }

  const auto mru = registry->create<Evictor>("bpf_mru", {}, 1, kFrames);
  std::vector<std::uint64_t> held(kFrames, kContents);
  std::uint32_t filled = 0;
  std::uint64_t misses = 0;
  for (const std::uint64_t content : scan) {
    const auto found = std::find(held.begin(), held.end(), content);
    if (found != held.end()) {
      mru->on_migrated(ChunkId{static_cast<std::uint32_t>(found - held.begin())});
      continue;
    }
    ++misses;
    ChunkId frame{filled};
    if (filled == kFrames) {
      frame = mru->select_victim(FakeChunks(kFrames));
      mru->on_released(frame);
    } else {
      ++filled;
    }
    held[frame.value] = content;
    mru->on_allocated(frame, ContentIndex(content));
    mru->on_migrated(frame);
  }
  EXPECT_EQ(optimum.misses(), 28u);
  EXPECT_EQ(misses, optimum.misses());
  EXPECT_EQ(driver.misses(), kContents + (kRounds - 1) * (kContents - kFrames + 1));
}

}  // namespace
}  // namespace uvmsim::policy
