// SPDX-License-Identifier: Apache-2.0
// Tests of random programs on small machines: the model's state is always consistent, and every access is served in the
// end.
#include <gtest/gtest.h>

#include "sim/common/random.h"
#include "tests/driver/driver_harness.h"

namespace uvmsim::driver {
namespace {

struct Setting {
  unsigned gpus;
  std::uint32_t chunks;
  bool access_counters;
  bool large_host_pages;
  std::uint64_t seed;
  const char* evictor = "lrm";
  bool small_chunks = false;
  std::uint64_t host_blocks = 0;  // 0: no limit; else with an SSD below
  std::uint64_t reclaim_bytes = kBlockBytes;
  std::uint64_t page_bytes = kBasePageBytes;
};

class RandomHistory : public testing::TestWithParam<Setting> {};

config::SystemConfig system_of(const Setting& setting) {
  config::SystemConfig system = tiny_system(setting.gpus);
  system.driver.access_counter_migration = setting.access_counters;
  system.driver.page_bytes = setting.page_bytes;
  system.host.large_pages = setting.large_host_pages;
  system.host.memory_bytes = setting.host_blocks * kBlockBytes;
  system.host.reclaim_bytes = setting.reclaim_bytes;
  system.host.watermark_scale_factor = 1000;
  if (setting.host_blocks != 0) system.ssd = {std::uint64_t{1} << 30, 3200, 3200, 12000, 16000, 4};
  return system;
}

PageMask random_pages(Random& random, const VaBlock& block) {
  PageMask mask;
  const auto size = static_cast<unsigned>(block.end_page - block.first_page);
  for (std::uint64_t runs = 1 + random.below(3); runs > 0; --runs) {
    const auto first = static_cast<unsigned>(random.below(size));
    const auto count = static_cast<unsigned>(1 + random.below(std::min<std::uint64_t>(size - first, 40)));
    mask.set_range(block.first_page + first, count);
  }
  return mask;
}

TEST_P(RandomHistory, TheBooksAgree) {
  const Setting& setting = GetParam();
  policy::GivenParameters parameters;
  if (setting.small_chunks) parameters = {{"granularity", "64k"}};
  Machine machine(setting.chunks, system_of(setting), setting.evictor, parameters);
  Random random(setting.seed);
  // Adds ranges of two blocks, the second one full or short, a short block, and a range that begins within its block.
  std::vector<BlockIndex> blocks;
  const auto add = [&](std::uint64_t bytes, std::uint64_t offset) {
    const BlockIndex first = machine.allocate(bytes, offset);
    const std::uint64_t count = (offset + bytes + kBlockBytes - 1) / kBlockBytes;
    for (std::uint64_t i = 0; i < count; ++i) blocks.emplace_back(first.value + i);
  };
  add(2 * kBlockBytes, 0);
  add(kBlockBytes + 5 * kBasePageBytes, 0);
  add(600 * 1024, 0);
  add(1400 * 1024, 1024 * 1024);

  constexpr int kSteps = 1500;
  for (int step = 0; step < kSteps; ++step) {
    const BlockIndex block = blocks[random.below(blocks.size())];
    const auto gpu = static_cast<unsigned>(random.below(setting.gpus));
    const PageMask some = random_pages(random, machine.space.block(block));
    const ProcessorId processor = random.below(2) == 0 ? kHost : gpu_processor(gpu);
    switch (random.below(13)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const bool write = random.below(2) == 0;
        // A served page is not requested again: under read duplication a later write in this loop may revoke it.
        PageMask waiting = some;
        for (int tries = 0; !waiting.empty(); ++tries) {
          ASSERT_LT(tries, 10000) << "step " << step << ": the GPU never gets its pages";
          machine.gpu_access(block, waiting, write, gpu);
          const ProcessorPages& mine = machine.on_gpu(block, gpu);
          waiting -= write ? mine.writable : mine.mapped;
        }
        break;
      }
      case 4:
      case 5: {
        const bool write = random.below(2) == 0;
        some.for_each([&](unsigned page) { machine.cpu_access(block, page, write); });
        break;
      }
      case 6:
        machine.prefetch({block}, processor);
        break;
      case 7:
        machine.prefetch({blocks[0], blocks[1], blocks[2]}, processor);
        break;
      case 8:
        machine.advise(block, static_cast<trace::Advice>(random.below(6)), processor);
        break;
      case 9:
        if (random.below(2) == 0) {
          machine.discard(block, some);
        } else {
          machine.residency.departures().discard(block, some, false);
        }
        break;
      case 10:  // both processors alternately write one page
        for (int i = 0; i < 10; ++i) {
          const unsigned page = some.next_set(0);
          machine.gpu_access(block, pages({page}), true, gpu);
          machine.cpu_access(block, page, true);
        }
        break;
      case 11: {
        const PageMask remote = machine.on_gpu(block, gpu).mapped - machine.on_gpu(block, gpu).resident;
        machine.access_counters.on_remote_access(gpu, block, remote, 1 + random.below(500));
        machine.advance_to(machine.access_counters.service(gpu, machine.now));
        break;
      }
      default:
        machine.wait(microseconds(static_cast<std::int64_t>(random.below(200000))));
        expire_pins(machine.context, machine.thrashing, machine.now);
        break;
    }
    machine.check();
    if (HasFailure()) {
      FAIL() << "step " << step << " of seed " << setting.seed;
    }
  }
  const Counters& counters = machine.counters;
  EXPECT_GT(counters.evictions, 0u);
  EXPECT_GT(counters.thrashing_pages, 0u);
  if (setting.host_blocks != 0) {
    EXPECT_GT(counters.ssd_read_bytes, 0u);
    EXPECT_GT(counters.host_clean_pages, 0u);
    EXPECT_EQ(counters.ssd_write_bytes / kBasePageBytes + counters.host_clean_pages, counters.host_reclaimed_pages);
  }

  for (const BlockIndex block : blocks) machine.residency.departures().release(block);
  for (const GpuState& state : machine.gpus) {
    EXPECT_EQ(state.memory.free_chunks(), setting.chunks);
    EXPECT_EQ(state.resident_pages, 0u);
  }
  EXPECT_EQ(machine.context.host_resident_pages, 0u);
  EXPECT_EQ(machine.context.host_memory.used_pages(), 0u);
  EXPECT_EQ(machine.context.host_memory.saved_pages(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Machines, RandomHistory,
                         testing::Values(Setting{1, 1, false, true, 1}, Setting{1, 2, false, true, 2},
                                         Setting{1, 2, true, true, 3}, Setting{1, 3, true, false, 4},
                                         Setting{2, 2, false, true, 5}, Setting{3, 2, true, true, 6},
                                         Setting{2, 1, true, true, 7}, Setting{1, 1, true, false, 8},
                                         Setting{1, 1, false, true, 9, "fifo", true},
                                         Setting{2, 2, true, false, 10, "clock", true},
                                         Setting{1, 2, false, true, 11, "tree_pre_eviction"},
                                         Setting{1, 3, false, true, 12, "free_page_buffer"},
                                         Setting{2, 1, true, true, 13, "free_page_buffer", true},
                                         Setting{1, 1, false, true, 14, "lrm", false, 1},
                                         Setting{1, 2, true, true, 15, "lrm", false, 2, kBigPageBytes},
                                         Setting{2, 2, true, false, 16, "clock", true, 1, kBasePageBytes},
                                         Setting{3, 1, false, true, 17, "lrm", false, 2, kBasePageBytes},
                                         Setting{1, 2, false, true, 18, "lrm", false, 0, kBlockBytes, kBlockBytes},
                                         Setting{2, 2, false, true, 19, "lrm", false, 0, kBlockBytes, kBigPageBytes},
                                         Setting{3, 2, true, true, 20, "lrm", false, 2, kBlockBytes, kBlockBytes}),
                         [](const auto& setting) { return "Seed" + std::to_string(setting.param.seed); });

}  // namespace
}  // namespace uvmsim::driver
