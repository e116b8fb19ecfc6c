// SPDX-License-Identifier: Apache-2.0
// Miss counts of the evictors on bare page streams, against libCacheSim's, textbook ones and closed forms.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/policy/golden_streams.h"

namespace uvmsim::policy {
namespace {

using Counts = std::vector<std::uint64_t>;

nlohmann::json libcachesim() {
  return nlohmann::json::parse(std::ifstream(UVMSIM_SOURCE_DIR "/tests/policy/libcachesim_misses.json"));
}

TEST(GoldenStreams, AreThoseOfTheFile) {
  const nlohmann::json golden = libcachesim();
  for (const auto& [name, checksum] : golden.at("checksums").items()) {
    const Pages pages = golden_stream(name);
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < pages.size(); ++i) sum += (i + 1) * pages[i];
    EXPECT_EQ(sum, checksum.get<std::uint64_t>()) << name;
    Counts optimal;
    for (const std::uint64_t frames : golden.at("capacities")) optimal.push_back(optimal_misses(pages, frames));
    EXPECT_EQ(optimal, golden.at("misses").at("belady").at(name).get<Counts>()) << name;
  }
}

struct SameAs {
  const char* evictor;
  const char* libcachesim;
};

class LibCacheSim : public ::testing::TestWithParam<SameAs> {};
INSTANTIATE_TEST_SUITE_P(Evict, LibCacheSim,
                         ::testing::Values(SameAs{"fifo", "fifo"}, SameAs{"lru", "lru"}, SameAs{"clock", "clock"},
                                           SameAs{"lfu", "lfu"}, SameAs{"2q", "twoq"}, SameAs{"s3_fifo", "s3fifo"},
                                           SameAs{"sieve", "sieve"}, SameAs{"gdsf", "gdsf"}, SameAs{"arc", "arc"},
                                           SameAs{"slru", "slru"}, SameAs{"lirs", "lirs"}),
                         [](const auto& info) { return std::string(info.param.libcachesim); });

// Miss counts that differ from the file's, in the order of its capacities (20, 50, 100, 150).
struct Other {
  const char* evictor;
  const char* stream;
  Counts misses;
};
const Other kOthers[] = {
    // arc: libCacheSim keeps the target length as a double, which is off by a rounding error when a third is added
    // three
    // times; in exact fractions (checked with Python's Fraction) it is 7627 instead of 7625 here.
    {"arc", "skew4", {7627, 4574, 1236, 203}},
    // slru: 50 and 150 do not divide by 4. libCacheSim gives every segment 12 and 37 pages and puts the remaining pages
    // into the lowest segment for a while, but discards them when a hit overfills the lowest segment, so that it holds
    // less than its capacity. Here the remaining pages belong to the lowest segment.
    {"slru", "uniform", {9026, 7536, 5118, 2562}},
    {"slru", "skew4", {7329, 4130, 1069, 209}},
    {"slru", "zigzag", {9250, 8150, 6300, 3248}},
    {"slru", "scanhot", {6583, 2869, 2016, 1483}},
    {"slru", "phases", {6233, 887, 527, 428}},
    // lirs: on a hit to a HIR page that is outside the stack, libCacheSim demotes a LIR page. This removes that very
    // HIR page from the queue but keeps it in the stack as resident, so that up to 4 pages more than the capacity are
    // resident (a program that does the same gets all 28 numbers). In the paper, and here, only the page's place
    // changes.
    {"lirs", "uniform", {9051, 7573, 5101, 2527}},
    {"lirs", "skew4", {7475, 4201, 994, 206}},
    {"lirs", "zigzag", {10000, 10000, 9952, 5052}},
    {"lirs", "scanhot", {6349, 2416, 1657, 914}},
    {"lirs", "phases", {6025, 741, 692, 642}},
};

TEST_P(LibCacheSim, MissesTheSame) {
  const nlohmann::json golden = libcachesim();
  for (const auto& [stream, misses] : golden.at("misses").at(GetParam().libcachesim).items()) {
    Counts expected = misses.get<Counts>();
    for (const Other& other : kOthers) {
      if (std::string_view(other.evictor) == GetParam().evictor && stream == other.stream) expected = other.misses;
    }
    const Pages pages = golden_stream(stream);
    Counts found;
    for (const std::uint32_t frames : golden.at("capacities")) {
      found.push_back(misses_of(GetParam().evictor, pages, frames));
    }
    EXPECT_EQ(found, expected) << stream;
  }
}

// W-TinyLFU is a family of policies. libCacheSim's counts an access in its sketch (a counting Bloom filter of XXH64
// hashes) only for hits in the main part and for evictions, and halves the sketch every 32 hits per page. Its window of
// 1 % has no page for capacities below 100: then it admits nothing and all 10,000 accesses miss. Here, as in the paper,
// every access counts in a count-min sketch of 4-bit counters, which are halved every 10 accesses per page, and the
// window has at least one page.
TEST(WTinyLfu, MissesOfOurVariant) {
  const std::map<std::string, Counts> expected = {
      {"uniform", {9031, 7551, 5113, 2590}}, {"skew4", {7026, 3535, 830, 210}},
      {"cyclic", {9085, 7896, 5149, 2848}},  {"zigzag", {9415, 9094, 9474, 4030}},
      {"scanhot", {6353, 2550, 1915, 1014}}, {"phases", {6764, 3334, 2281, 1714}},
      {"loops", {8352, 5648, 3230, 1730}}};
  for (const auto& [stream, misses] : expected) {
    Counts found;
    for (const std::uint32_t frames : {20u, 50u, 100u, 150u}) {
      found.push_back(misses_of("w_tinylfu", golden_stream(stream), frames));
    }
    EXPECT_EQ(found, misses) << stream;
  }
}

// The driver's order ignores hits, so on a page stream it is first in, first out.
TEST(Lrm, IsFifoOnAPageStream) {
  for (const char* stream : {"uniform", "skew4", "zigzag", "loops"}) {
    const Pages pages = golden_stream(stream);
    EXPECT_EQ(misses_of("lrm", pages, 50), misses_of("fifo", pages, 50)) << stream;
  }
}

TEST(Textbook, ReferenceString) {
  const Pages pages = {7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1};
  EXPECT_EQ(misses_of("fifo", pages, 3), 15u);
  EXPECT_EQ(misses_of("lru", pages, 3), 12u);
  EXPECT_EQ(misses_of("clock", pages, 3), 11u);
  EXPECT_EQ(misses_of("sieve", pages, 3), 11u);
  EXPECT_EQ(optimal_misses(pages, 3), 9u);
}

TEST(Textbook, BeladysAnomaly) {
  const Pages pages = {1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5};
  EXPECT_EQ(misses_of("fifo", pages, 3), 9u);
  EXPECT_EQ(misses_of("fifo", pages, 4), 10u);  // Belady's anomaly: more memory, more misses
  EXPECT_EQ(misses_of("lru", pages, 3), 10u);
  EXPECT_EQ(misses_of("lru", pages, 4), 8u);
  EXPECT_EQ(optimal_misses(pages, 3), 7u);
  EXPECT_EQ(optimal_misses(pages, 4), 6u);
}

TEST(Textbook, SmallCyclicScans) {
  struct Case {
    std::uint64_t pages;
    std::uint32_t frames;
    std::uint64_t always, mru;
  };
  for (const Case& c : {Case{5, 4, 50, 16}, Case{10, 8, 100, 30}, Case{16, 8, 160, 90}}) {
    const Pages pages = cyclic(c.pages, 10);
    for (const char* evictor : {"fifo", "lru", "clock", "sieve"}) {
      EXPECT_EQ(misses_of(evictor, pages, c.frames), c.always) << evictor;
    }
    EXPECT_EQ(misses_of("mru", pages, c.frames), c.mru);
    EXPECT_EQ(optimal_misses(pages, c.frames), c.mru);
  }
}

// 1000 pages at oversubscription factors 1.25, 1.5, 2, 4, 10.
const std::vector<std::uint32_t> kFrames = {800, 666, 500, 250, 100};

Counts misses_at_factors(const char* evictor, const Pages& pages) {
  Counts misses;
  for (const std::uint32_t frames : kFrames) misses.push_back(misses_of(evictor, pages, frames));
  return misses;
}
Counts optimal_at_factors(const Pages& pages) {
  Counts misses;
  for (const std::uint32_t frames : kFrames) misses.push_back(optimal_misses(pages, frames));
  return misses;
}

TEST(Factors, CyclicScan) {
  const Pages pages = cyclic(1000, 4);
  for (const char* evictor : {"fifo", "lru", "clock", "sieve"}) {
    EXPECT_EQ(misses_at_factors(evictor, pages), Counts(5, 4000)) << evictor;
  }
  const Counts best = {1600, 2002, 2500, 3250, 3700};
  EXPECT_EQ(misses_at_factors("mru", pages), best);
  EXPECT_EQ(optimal_at_factors(pages), best);
}

TEST(Factors, Zigzag) {
  const Pages pages = zigzag(1000, 4);
  const Counts best = {1600, 2002, 2500, 3250, 3700};
  EXPECT_EQ(misses_at_factors("fifo", pages), (Counts{2200, 2334, 2500, 3250, 3700}));
  EXPECT_EQ(misses_at_factors("lru", pages), best);
  EXPECT_EQ(misses_at_factors("clock", pages), (Counts{2400, 2666, 2500, 3250, 3700}));
  EXPECT_EQ(misses_at_factors("mru", pages), best);
  EXPECT_EQ(optimal_at_factors(pages), best);
}

// The random draws of the C library's old generator, from bit 8 up.
class Draws {
 public:
  std::uint64_t operator()() {
    state_ = (1103515245 * state_ + 12345) % (std::uint64_t{1} << 31);
    return state_ >> 8;
  }

 private:
  std::uint64_t state_ = 1;
};

TEST(Factors, Uniform) {
  Draws draw;
  Pages pages;
  for (int i = 0; i < 20000; ++i) pages.push_back(draw() % 1000);
  EXPECT_EQ(misses_at_factors("fifo", pages), (Counts{4454, 7005, 10178, 15048, 18020}));
  EXPECT_EQ(misses_at_factors("lru", pages), (Counts{4503, 7004, 10055, 15072, 18022}));
  EXPECT_EQ(misses_at_factors("clock", pages), (Counts{4546, 6978, 10142, 15060, 18009}));
  EXPECT_EQ(misses_at_factors("mru", pages), (Counts{4509, 6971, 10039, 14991, 18021}));
  EXPECT_EQ(optimal_at_factors(pages), (Counts{1849, 2745, 4331, 8036, 12113}));
}

TEST(Factors, FourFifthsOfTheAccessesToAFifthOfThePages) {
  Draws draw;
  Pages pages;
  for (int i = 0; i < 20000; ++i) {
    const bool hot = draw() % 10 < 8;
    const std::uint64_t page = draw();
    pages.push_back(hot ? page % 200 : 200 + page % 800);
  }
  EXPECT_EQ(misses_at_factors("fifo", pages), (Counts{1866, 2606, 3954, 7988, 13933}));
  EXPECT_EQ(misses_at_factors("lru", pages), (Counts{1534, 2047, 2721, 6337, 13702}));
  EXPECT_EQ(misses_at_factors("clock", pages), (Counts{1526, 2063, 2750, 5724, 13535}));
  EXPECT_EQ(misses_at_factors("mru", pages), (Counts{3752, 6192, 9516, 14568, 17779}));
  EXPECT_EQ(optimal_at_factors(pages), (Counts{1080, 1238, 1597, 2941, 7091}));
}

std::vector<std::string> evictors() {
  std::vector<std::string> names;
  for (const PolicyEntry* entry : built_ins()->list()) {
    if (entry->slot == Slot::kEvict && !entry->joint()) names.push_back(entry->info.name);
  }
  return names;
}

class EveryEvictorOnPages : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Evict, EveryEvictorOnPages, ::testing::ValuesIn(evictors()),
                         [](const auto& info) { return "evict_" + info.param; });

TEST_P(EveryEvictorOnPages, NeverBeatsTheOptimumAndMissesOncePerPageWhenAllFit) {
  Random random(3);
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t universe = 1 + random.below(14);
    Pages pages;
    for (int i = 0; i < 300; ++i) pages.push_back(random.below(1 + random.below(universe)));
    for (std::uint32_t frames = 1; frames <= universe; ++frames) {
      EXPECT_GE(misses_of(GetParam(), pages, frames), optimal_misses(pages, frames)) << "round " << round;
    }
    EXPECT_EQ(misses_of(GetParam(), pages, 14), optimal_misses(pages, 14));
  }
}

TEST_P(EveryEvictorOnPages, RunsAgainTheSame) {
  const Pages pages = golden_stream("scanhot");
  EXPECT_EQ(misses_of(GetParam(), pages, 50), misses_of(GetParam(), pages, 50));
}

}  // namespace
}  // namespace uvmsim::policy
