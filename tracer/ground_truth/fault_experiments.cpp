// SPDX-License-Identifier: Apache-2.0
#include "tracer/ground_truth/fault_experiments.h"

#include <algorithm>
#include <utility>

namespace uvmtrace::ground_truth {

namespace {

constexpr std::uint64_t kPage = 4096, kMiB = 1 << 20, kBlock = 2 * kMiB;

class List {
 public:
  void add(FaultExperiment experiment, const std::string& what) {
    experiment.name = what +
                      (experiment.pattern == FaultPattern::kAtomic ? "_"
                       : experiment.write                          ? "_wr_"
                                                                   : "_rd_") +
                      std::string(kFirstPlaceNames[static_cast<std::size_t>(experiment.place)]);
    const std::uint64_t blocks = (touched_bytes(experiment) + kBlock - 1) / kBlock;
    experiment.bytes = std::max<std::uint64_t>(1, blocks) * kBlock;
    list_.push_back(std::move(experiment));
  }
  std::vector<FaultExperiment> take() { return std::move(list_); }

 private:
  std::vector<FaultExperiment> list_;
};

// Adds the faults of one warp, one SM and all SMs: on one page, on separate pages, in separate blocks of 2 MB.
void add_single_touches(List& list, const FaultExperiment& kind, std::uint32_t sms) {
  const auto lanes = [&](const std::string& what, std::uint32_t grid, std::uint32_t threads, std::uint64_t pitch) {
    FaultExperiment one = kind;
    one.pattern = FaultPattern::kLanes;
    one.grid = grid;
    one.threads = threads;
    one.pitch = pitch;
    list.add(one, what);
  };
  const auto walk = [&](const std::string& what, std::uint32_t grid, std::uint32_t warps, std::uint64_t warp_pitch,
                        std::uint32_t steps = 1, std::uint64_t pitch = 0) {
    FaultExperiment one = kind;
    one.pattern = FaultPattern::kWalk;
    one.grid = grid;
    one.threads = warps * 32;
    one.warp_pitch = warp_pitch;
    one.steps = steps;
    one.pitch = pitch;
    list.add(one, what);
  };
  for (const std::uint32_t n : {1u, 32u}) lanes("one_word_" + std::to_string(n) + "lanes", 1, n, 0);
  for (const std::uint32_t n : {2u, 4u, 8u, 16u, 32u, 256u}) lanes("lanes_own_page_" + std::to_string(n), 1, n, kPage);
  lanes("lanes_own_block_32", 1, 32, kBlock);
  for (const std::uint32_t n : {1u, 2u, 8u, 32u}) walk("warps_same_page_" + std::to_string(n), 1, n, 128);
  for (const std::uint32_t n : {1u, 2u, 8u, 32u}) walk("warps_own_page_" + std::to_string(n), 1, n, kPage);
  for (const std::uint32_t n : {8u, 32u}) walk("warps_own_block_" + std::to_string(n), 1, n, kBlock);
  for (const std::uint32_t n : {2u, sms / 2, sms, 2 * sms}) lanes("blocks_same_word_" + std::to_string(n), n, 32, 0);
  for (const std::uint32_t n : {2u, sms, 2 * sms, 8 * sms}) walk("blocks_own_page_" + std::to_string(n), n, 1, kPage);
  walk("one_warp_walk_64pages", 1, 1, 0, 64, kPage);
  walk("one_warp_walk_64blocks", 1, 1, 0, 64, kBlock);
}

// Adds independent accesses of one warp, each to a page of its own, which show the limits of an SM.
void add_bursts(List& list, const FaultExperiment& kind, std::uint32_t sms) {
  for (const std::uint32_t bytes : {4u, 16u}) {
    for (const std::uint32_t grid : {1u, 16u, sms}) {
      for (const std::uint32_t warps : {1u, 4u, 16u}) {
        for (const std::uint32_t at_once : {1u, 4u, 16u}) {
          FaultExperiment one = kind;
          one.pattern = FaultPattern::kBurst;
          one.access_bytes = bytes;
          one.grid = grid;
          one.threads = warps * 32;
          one.steps = at_once;
          one.pitch = kPage;
          one.warp_pitch = 16 * kPage;
          list.add(one, "burst" + std::to_string(bytes) + "_" + std::to_string(at_once) + "x" + std::to_string(warps) +
                            "warps_g" + std::to_string(grid));
        }
      }
    }
  }
}

void add_loops(List& list, const FaultExperiment& kind, std::uint32_t sms) {
  const auto loop = [&](std::uint32_t grid, std::uint32_t threads, std::uint32_t bytes) {
    FaultExperiment one = kind;
    one.pattern = FaultPattern::kLoop;
    one.grid = grid;
    one.threads = threads;
    one.access_bytes = bytes;
    one.bytes = grid == 1 ? 8 * kMiB : 32 * kMiB;
    list.add(one, "loop" + std::to_string(bytes) + "_g" + std::to_string(grid) + "_b" + std::to_string(threads));
  };
  for (const std::uint32_t grid : {1u, 16u, sms, 4 * sms, 8 * sms}) loop(grid, 256, 16);
  for (const std::uint32_t threads : {32u, 128u, 1024u}) loop(sms, threads, 16);
  loop(4 * sms, 256, 4);
}

void add_atomics(List& list, std::uint32_t sms) {
  for (const std::uint32_t grid : {1u, sms}) {
    for (const std::uint32_t warps : {1u, 8u}) {
      for (const std::uint64_t pitch : {std::uint64_t{0}, std::uint64_t{128}}) {
        FaultExperiment one;
        one.pattern = FaultPattern::kAtomic;
        one.write = true;
        one.grid = grid;
        one.threads = warps * 32;
        one.pitch = pitch;
        list.add(one, std::string(pitch == 0 ? "atomic_one_word_" : "atomic_own_line_") + std::to_string(warps) +
                          "warps_g" + std::to_string(grid));
      }
    }
  }
}

}  // namespace

std::uint64_t touched_bytes(const FaultExperiment& experiment) {
  const std::uint64_t threads = std::uint64_t{experiment.grid} * experiment.threads, warps = threads / 32;
  switch (experiment.pattern) {
    case FaultPattern::kLanes:
    case FaultPattern::kAtomic:
      return (threads - 1) * experiment.pitch + 4;
    case FaultPattern::kWalk:
    case FaultPattern::kBurst:
      return (std::max<std::uint64_t>(warps, 1) - 1) * experiment.warp_pitch +
             (experiment.steps - 1) * experiment.pitch + std::uint64_t{32} * experiment.access_bytes;
    case FaultPattern::kLoop:
      break;
  }
  return experiment.bytes;
}

std::vector<FaultExperiment> fault_experiments(std::uint32_t sm_count, bool quick) {
  List list;
  for (const FirstPlace place : {FirstPlace::kNowhere, FirstPlace::kHost}) {
    for (const bool write : {false, true}) {
      FaultExperiment kind;
      kind.place = place;
      kind.write = write;
      add_single_touches(list, kind, sm_count);
      if (place == FirstPlace::kNowhere) add_bursts(list, kind, sm_count);
      if (write || place == FirstPlace::kHost) add_loops(list, kind, sm_count);
    }
  }
  add_atomics(list, sm_count);
  std::vector<FaultExperiment> all = list.take();
  if (!quick) return all;
  std::vector<FaultExperiment> some;
  for (std::size_t i = 0; i < all.size(); i += 8) some.push_back(std::move(all[i]));
  return some;
}

}  // namespace uvmtrace::ground_truth
