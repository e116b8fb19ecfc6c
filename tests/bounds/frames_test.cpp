// SPDX-License-Identifier: Apache-2.0
// Frames against the published counts of MIN and MIN with bypass (docs/policies.md) and against search through all
// contents of a cache.
#include "sim/bounds/frames.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "sim/common/random.h"
#include "tests/bounds/small_instance.h"

namespace uvmsim {
namespace {

using Pages = std::vector<std::uint64_t>;

// Returns the loads of every prefix. When a page is touched, it needs a frame (MIN), or may be served without one
// (bypass).
std::vector<std::uint64_t> prefix_loads(const Pages& touches, std::uint64_t frames, bool bypass) {
  bounds::Frames cache(touches.size(), bypass ? frames : frames - 1);
  std::map<std::uint64_t, std::size_t> last;
  std::vector<std::uint64_t> loads;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < touches.size(); ++i) {
    const auto [at, first] = last.try_emplace(touches[i], i);
    // The page must fit in addition to the page touched at each position in between, or across the borders.
    if (first || cache.keep(bypass ? at->second : at->second + 1, i, 1) == 0) ++count;
    at->second = i;
    loads.push_back(count);
  }
  return loads;
}
std::uint64_t min_loads(const Pages& touches, std::uint64_t frames) {
  return prefix_loads(touches, frames, false).back();
}
std::uint64_t bypass_loads(const Pages& touches, std::uint64_t frames) {
  return prefix_loads(touches, frames, true).back();
}

Pages cyclic(std::uint64_t pages, std::uint64_t times) {
  Pages touches;
  for (std::uint64_t i = 0; i < pages * times; ++i) touches.push_back(i % pages);
  return touches;
}

TEST(Frames, TextbookStrings) {
  const Pages silberschatz = {7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1};
  EXPECT_EQ(min_loads(silberschatz, 3), 9u);
  EXPECT_EQ(bypass_loads(silberschatz, 3), 8u);
  const Pages belady = {1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5};
  EXPECT_EQ(min_loads(belady, 3), 7u);
  EXPECT_EQ(min_loads(belady, 4), 6u);
}

TEST(Frames, Cycles) {
  EXPECT_EQ(min_loads(cyclic(5, 10), 4), 16u);
  EXPECT_EQ(bypass_loads(cyclic(5, 10), 4), 14u);
  EXPECT_EQ(min_loads(cyclic(10, 10), 8), 30u);
  EXPECT_EQ(bypass_loads(cyclic(10, 10), 8), 28u);
  EXPECT_EQ(min_loads(cyclic(16, 10), 8), 90u);
  EXPECT_EQ(bypass_loads(cyclic(16, 10), 8), 88u);
  for (const std::uint64_t frames : {800u, 666u, 500u, 250u, 100u}) {
    EXPECT_EQ(min_loads(cyclic(1000, 4), frames), 1000 + 3 * (1000 - frames));
    EXPECT_EQ(bypass_loads(cyclic(1000, 4), frames), 1000 + 3 * (1000 - frames));  // the closed form
  }
}

TEST(Frames, Zigzag) {
  Pages touches;
  for (unsigned pass = 0; pass < 4; ++pass) {
    for (std::uint64_t i = 0; i < 1000; ++i) touches.push_back(pass % 2 == 0 ? i : 999 - i);
  }
  const std::map<std::uint64_t, std::uint64_t> published = {
      {800, 1600}, {666, 2002}, {500, 2500}, {250, 3250}, {100, 3700}};
  for (const auto& [frames, loads] : published) {
    EXPECT_EQ(min_loads(touches, frames), loads);
    EXPECT_EQ(bypass_loads(touches, frames), loads);
  }
}

TEST(Frames, RandomReferences) {
  std::uint64_t x = 1;
  const auto draw = [&] { return (x = (1103515245 * x + 12345) % (std::uint64_t{1} << 31)) >> 8; };
  Pages uniform;
  for (unsigned i = 0; i < 20000; ++i) uniform.push_back(draw() % 1000);
  x = 1;
  Pages skewed;
  for (unsigned i = 0; i < 20000; ++i) {
    const bool hot = draw() % 10 < 8;
    const std::uint64_t page = draw();
    skewed.push_back(hot ? page % 200 : 200 + page % 800);
  }
  const std::vector<std::uint64_t> frames = {800, 666, 500, 250, 100};
  const std::vector<std::uint64_t> uniform_min = {1849, 2745, 4331, 8036, 12113};
  const std::vector<std::uint64_t> uniform_bypass = {1848, 2743, 4327, 8027, 12086};
  const std::vector<std::uint64_t> skewed_min = {1080, 1238, 1597, 2941, 7091};
  const std::vector<std::uint64_t> skewed_bypass = {1080, 1238, 1596, 2933, 7062};
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(min_loads(uniform, frames[i]), uniform_min[i]);
    EXPECT_EQ(bypass_loads(uniform, frames[i]), uniform_bypass[i]);
    EXPECT_EQ(min_loads(skewed, frames[i]), skewed_min[i]);
    EXPECT_EQ(bypass_loads(skewed, frames[i]), skewed_bypass[i]);
  }
}

// Returns the least loads of every prefix by considering every content of the cache.
std::vector<std::uint64_t> searched_loads(const Pages& touches, unsigned pages, unsigned frames, bool bypass) {
  constexpr std::uint64_t kNever = 1000;
  std::vector<std::uint64_t> best(std::size_t{1} << pages, kNever);
  best[0] = 0;
  std::vector<std::uint64_t> loads;
  for (const std::uint64_t page : touches) {
    const PageSet touched = PageSet{1} << page;
    std::vector<std::uint64_t> next(best.size(), kNever);
    for (PageSet before = 0; before < best.size(); ++before) {
      if (best[before] == kNever) continue;
      const std::uint64_t cost = best[before] + ((before & touched) == 0 ? 1 : 0);
      const PageSet all = before | touched;
      for (PageSet after = all;; after = (after - 1) & all) {  // every subset
        if (size_of(after) <= frames && (bypass || (after & touched) != 0)) next[after] = std::min(next[after], cost);
        if (after == 0) break;
      }
    }
    best = next;
    loads.push_back(*std::min_element(best.begin(), best.end()));
  }
  return loads;
}

TEST(Frames, EveryPrefixIsAsGoodAsAnySearchFinds) {
  Random random(7);
  for (unsigned instance = 0; instance < 3000; ++instance) {
    const auto pages = static_cast<unsigned>(2 + random.below(5));
    const auto frames = static_cast<unsigned>(1 + random.below(pages));
    Pages touches;
    for (std::uint64_t n = 4 + random.below(11); n > 0; --n) touches.push_back(random.below(pages));
    for (const bool bypass : {false, true}) {
      ASSERT_EQ(prefix_loads(touches, frames, bypass), searched_loads(touches, pages, frames, bypass))
          << "instance " << instance;
    }
    ASSERT_LE(bypass_loads(touches, frames), min_loads(touches, frames));
    ASSERT_LE(min_loads(touches, frames + 1), min_loads(touches, frames));
  }
}

TEST(Frames, SeveralPagesOfAnIntervalStayAsFarAsTheyFit) {
  bounds::Frames frames(10, 100);
  EXPECT_EQ(frames.keep(0, 4, 70), 70u);
  EXPECT_EQ(frames.keep(2, 5, 70), 30u);
  EXPECT_EQ(frames.keep(4, 6, 90), 70u);
  EXPECT_EQ(frames.keep(0, 2, 90), 30u);
  EXPECT_EQ(frames.keep(3, 3, 1000), 1000u);  // no border in between
  EXPECT_EQ(frames.keep(6, 10, 1000), 100u);
}

}  // namespace
}  // namespace uvmsim
