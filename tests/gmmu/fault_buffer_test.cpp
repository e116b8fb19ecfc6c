// SPDX-License-Identifier: Apache-2.0
#include "sim/gmmu/fault_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/common/error.h"
#include "sim/common/random.h"

namespace uvmsim::gmmu {
namespace {

RawFault fault(std::int64_t arrival, std::uint64_t page, std::uint32_t sm = 0,
               FaultAccess access = FaultAccess::kRead) {
  return {Nanoseconds(arrival), PageIndex(page), sm, access};
}
constexpr Nanoseconds kLater(1'000'000);

// Returns whether the buffer takes the fault.
bool put(FaultBuffer& buffer, const RawFault& raised) { return buffer.put(raised) == 0; }

// Duplicates as the driver counts them before sorting: instances beyond the first of every entry.
std::uint32_t merged(std::span<const FaultEntry> entries) {
  std::uint32_t n = 0;
  for (const FaultEntry& entry : entries) n += entry.instances - 1;
  return n;
}

TEST(FaultBuffer, ThreeHundredDistinctFaultsAreABatchAndAFlush) {
  FaultBuffer buffer(6144, 132);
  for (unsigned i = 0; i < 300; ++i) ASSERT_TRUE(put(buffer, fault(i, i, i % 132)));
  EXPECT_EQ(buffer.fetch(kLater, 256, true).size(), 256u);
  EXPECT_EQ(buffer.fetched_raw(), 256u);
  EXPECT_EQ(buffer.flush_cached_put(), 44u);
  EXPECT_TRUE(buffer.empty());
  for (unsigned i = 256; i < 300; ++i) buffer.put(fault(2'000'000 + i, i, i % 132));  // faulting again after the replay
  EXPECT_EQ(buffer.fetch(Nanoseconds(3'000'000), 256, true).size(), 44u);
}

TEST(FaultBuffer, AdjacentDuplicatesOfOneMicroTlbMerge) {
  FaultBuffer buffer(6144, 132);
  for (int i = 0; i < 200; ++i) buffer.put(fault(i, 7, 3));
  for (unsigned i = 0; i < 56; ++i) buffer.put(fault(300 + i, 100 + i, 4 + i));
  const auto entries = buffer.fetch(kLater, 256, true);
  EXPECT_EQ(buffer.fetched_raw(), 256u);
  EXPECT_EQ(entries.size(), 57u);
  EXPECT_EQ(entries[0].instances, 200u);
  EXPECT_EQ(merged(entries), 199u);  // 100 * 199 > 50 * 256: the driver reads PUT again before it flushes
  buffer.put(fault(2'000'000, 500));
  EXPECT_EQ(buffer.flush_update_put(Nanoseconds(1'999'999)), 0u);
  EXPECT_EQ(buffer.flush_update_put(Nanoseconds(2'000'000)), 1u);
}

TEST(FaultBuffer, MergesPerMicroTlbOrWithTheLastEntryOfTheBatch) {
  FaultBuffer buffer(64, 4);
  buffer.put(fault(1, 10, 0));
  buffer.put(fault(2, 20, 1));
  buffer.put(fault(3, 10, 0));                              // a: same micro TLB's last, though not adjacent
  buffer.put(fault(4, 20, 2));                              // b: same page as the batch's last entry
  buffer.put(fault(5, 20, 3, FaultAccess::kWrite));         // not b: more intrusive
  buffer.put(fault(6, 10, 2));                              // neither: SM 2's last is nothing, batch's last is 20
  buffer.put(fault(7, 10, 2, FaultAccess::kAtomicStrong));  // a, and becomes the representative
  const auto entries = buffer.fetch(kLater, 256, true);
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[0].instances, 2u);
  EXPECT_EQ(entries[1].instances, 2u);
  EXPECT_EQ(entries[2].instances, 1u);
  EXPECT_EQ(entries[2].fault.access, FaultAccess::kWrite);
  EXPECT_EQ(entries[3].instances, 2u);
  EXPECT_EQ(entries[3].fault.access, FaultAccess::kAtomicStrong);
  EXPECT_EQ(entries[3].fault.arrival, Nanoseconds(7));
}

TEST(FaultBuffer, SmsMayShareAMicroTlb) {
  FaultBuffer volta(64, 4, 2);
  volta.put(fault(1, 10, 0));
  volta.put(fault(2, 20, 2));
  volta.put(fault(3, 10, 1));
  EXPECT_EQ(volta.fetch(kLater, 256, true).size(), 2u);
}

TEST(FaultBuffer, DoesNotMergeWhenToldNotTo) {
  FaultBuffer buffer(64, 4);
  for (int i = 0; i < 10; ++i) buffer.put(fault(i, 10, 0));
  EXPECT_EQ(buffer.fetch(kLater, 256, false).size(), 10u);
}

TEST(FaultBuffer, NothingMergesAcrossFetches) {
  FaultBuffer buffer(64, 4);
  buffer.put(fault(1, 10, 0));
  buffer.put(fault(2, 10, 0));
  EXPECT_EQ(buffer.fetch(kLater, 1, true).size(), 1u);
  EXPECT_EQ(buffer.fetch(kLater, 1, true).size(), 1u);
}

TEST(FaultBuffer, ReadsPutAgainOnlyWhenItHasCaughtUp) {
  FaultBuffer buffer(64, 4);
  for (unsigned i = 0; i < 4; ++i) buffer.put(fault(i, i));
  for (unsigned i = 4; i < 8; ++i) buffer.put(fault(100 + i, i));
  EXPECT_EQ(buffer.fetch(Nanoseconds(50), 2, true).size(), 2u);   // PUT read: 4
  EXPECT_EQ(buffer.fetch(Nanoseconds(500), 8, true).size(), 2u);  // up to the cached PUT
  EXPECT_EQ(buffer.fetch(Nanoseconds(500), 8, true).size(), 4u);
  EXPECT_EQ(buffer.fetch(Nanoseconds(500), 8, true).size(), 0u);
}

TEST(FaultBuffer, SeesOnlyWhatHasArrived) {
  FaultBuffer buffer(64, 4);
  buffer.put(fault(100, 1));
  EXPECT_FALSE(buffer.pending(Nanoseconds(99)));
  EXPECT_TRUE(buffer.pending(Nanoseconds(100)));
  EXPECT_EQ(buffer.next_arrival(), Nanoseconds(100));
  EXPECT_TRUE(buffer.fetch(Nanoseconds(99), 8, true).empty());
  EXPECT_EQ(buffer.flush_cached_put(), 0u);
  EXPECT_EQ(buffer.flush_update_put(Nanoseconds(99)), 0u);
  EXPECT_EQ(buffer.fetch(Nanoseconds(100), 8, true).size(), 1u);
}

TEST(FaultBuffer, CountsWhatDoesNotFit) {
  FaultBuffer buffer(3, 4);
  std::uint32_t lost = 0;
  for (unsigned i = 0; i < 5; ++i) lost += buffer.put(fault(i, i));
  EXPECT_EQ(lost, 2u);
  EXPECT_FALSE(put(buffer, fault(9, 9)));
  EXPECT_EQ(buffer.fetch(kLater, 1, true).size(), 1u);
  EXPECT_TRUE(put(buffer, fault(10, 10)));
  EXPECT_EQ(buffer.size(), 3u);
}

TEST(FaultBuffer, FaultsBehindAreDroppedByTheFlush) {
  FaultBuffer buffer(10, 4);
  buffer.put(fault(1, 1));
  EXPECT_EQ(buffer.put_behind(Nanoseconds(5), 7), 0u);
  EXPECT_EQ(buffer.put_behind(Nanoseconds(6), 4), 2u) << "the ring holds ten";
  EXPECT_EQ(buffer.fetch(Nanoseconds(4), 1, true).size(), 1u);
  EXPECT_EQ(buffer.flush_update_put(Nanoseconds(5)), 7u);
  EXPECT_EQ(buffer.flush_update_put(kLater), 2u);
  EXPECT_TRUE(buffer.empty());
}

TEST(FaultBuffer, LateComersAreSortedInButNotBeforeWhatWasSeen) {
  FaultBuffer buffer(64, 4);
  buffer.put(fault(10, 1));
  buffer.put(fault(30, 3));
  buffer.put(fault(20, 2));
  buffer.put(fault(20, 4));
  EXPECT_EQ(buffer.fetch(Nanoseconds(10), 1, false)[0].fault.page, PageIndex(1));
  buffer.put(fault(5, 5));  // the driver has read beyond this time
  const auto entries = buffer.fetch(kLater, 8, false);
  ASSERT_EQ(entries.size(), 4u);
  const std::uint64_t expected[] = {5, 2, 4, 3};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(entries[i].fault.page, PageIndex(expected[i]));
}

TEST(FaultBuffer, MatchesAnEagerModelUnderRandomUse) {
  Random random(11);
  FaultBuffer buffer(37, 4);
  std::vector<RawFault> model;  // the ring; the first `seen` are within the cached PUT
  std::size_t seen = 0;
  std::int64_t now = 0;
  const auto arrived = [&] {
    std::size_t n = seen;
    while (n < model.size() && model[n].arrival.value <= now) ++n;
    return n;
  };
  for (int i = 0; i < 20000; ++i) {
    now += static_cast<std::int64_t>(random.below(4));
    switch (random.below(8)) {
      case 0: {
        if (seen == 0) seen = arrived();
        const auto limit = static_cast<std::uint32_t>(random.below(20) + 1);
        const std::size_t take = std::min<std::size_t>(limit, seen);
        const auto entries = buffer.fetch(Nanoseconds(now), limit, false);
        ASSERT_EQ(entries.size(), take);
        for (std::size_t k = 0; k < take; ++k) ASSERT_EQ(entries[k].fault.page, model[k].page);
        model.erase(model.begin(), model.begin() + static_cast<long>(take));
        seen -= take;
        break;
      }
      case 1:
      case 2: {
        const bool update = random.below(2) != 0;
        if (update) seen = arrived();
        ASSERT_EQ(update ? buffer.flush_update_put(Nanoseconds(now)) : buffer.flush_cached_put(), seen);
        model.erase(model.begin(), model.begin() + static_cast<long>(seen));
        seen = 0;
        break;
      }
      default: {
        const RawFault f = fault(now + static_cast<std::int64_t>(random.below(10)), static_cast<std::uint64_t>(i));
        const bool fits = model.size() < 37;
        if (fits) {
          auto place = model.end();
          while (place > model.begin() + static_cast<long>(seen) && (place - 1)->arrival > f.arrival) --place;
          model.insert(place, f);
        }
        ASSERT_EQ(put(buffer, f), fits);
      }
    }
    ASSERT_EQ(buffer.size(), model.size());
  }
}

TEST(FaultBuffer, RefusesImpossibleSizes) {
  EXPECT_THROW(FaultBuffer(0, 1), InputError);
  EXPECT_THROW(FaultBuffer(1u << 30, 1), InputError);
}

}  // namespace
}  // namespace uvmsim::gmmu
