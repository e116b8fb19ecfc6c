// SPDX-License-Identifier: Apache-2.0
// Bytes of the driver's queue become events: all kinds, around the ring's end, and with events that the driver dropped.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/tracer/faults/entries.h"
#include "tracer/faults/event_ring.h"

namespace uvmtrace::faults {
namespace {

// The driver's side of the ring.
class Ring {
 public:
  explicit Ring(std::uint32_t entries) : entries_(entries), memory_(entries * kEntryBytes) {}

  // Returns false and counts the event as dropped if the ring is full, as the driver does.
  bool write(const Entry& entry) {
    const std::uint32_t put = control->put_behind;
    if (((put + 1) & (entries_ - 1)) == control->get_behind) {
      control->dropped[entry[0]] = control->dropped[entry[0]] + 1;
      return false;
    }
    std::memcpy(memory_.data() + put * kEntryBytes, entry.data(), kEntryBytes);
    control->put_ahead = (put + 1) & (entries_ - 1);
    control->put_behind = (put + 1) & (entries_ - 1);
    return true;
  }
  EventRing reader() { return {memory_.data(), entries_, control.get()}; }

  std::unique_ptr<RingControl> control = std::make_unique<RingControl>();

 private:
  std::uint32_t entries_;
  std::vector<std::uint8_t> memory_;
};

TEST(EventRing, ReadsEveryFieldOfEveryKind) {
  Ring ring(16);
  const RawFault fault{11, 12, 0x7f0000001000, 13, 1, 7, 54, kAccessAtomic, 2, kClientGpc};
  const Replay replay{21, 22, 23, 2};
  const Migration migration{31, 32, 33, 34, 0x7f0000200000, 65536, 0, 1, 3};
  ring.write(entry_of(migration));
  ring.write(entry_of(fault));
  ring.write(entry_of(replay));
  EventRing reader = ring.reader();
  DriverEvents events;
  reader.drain(events);
  ASSERT_EQ(events.faults.size(), 1u);
  ASSERT_EQ(events.replays.size(), 1u);
  ASSERT_EQ(events.migrations.size(), 1u);
  EXPECT_EQ(entry_of(events.faults[0]), entry_of(fault));
  EXPECT_EQ(entry_of(events.replays[0]), entry_of(replay));
  EXPECT_EQ(entry_of(events.migrations[0]), entry_of(migration));
  EXPECT_EQ(events.unknown, 0u);
}

TEST(EventRing, GoesAroundTheEndInOrder) {
  Ring ring(8);
  EventRing reader = ring.reader();
  DriverEvents events;
  for (std::uint64_t i = 0; i < 100; ++i) {
    RawFault fault;
    fault.gpu_ns = i;
    ASSERT_TRUE(ring.write(entry_of(fault)));
    if (i % 5 == 0) reader.drain(events);
  }
  reader.drain(events);
  ASSERT_EQ(events.faults.size(), 100u);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(events.faults[i].gpu_ns, i);
  reader.drain(events);
  EXPECT_EQ(events.size(), 100u);
  EXPECT_EQ(reader.take_dropped(), 0u);
}

TEST(EventRing, TellsWhatTheDriverDropped) {
  Ring ring(8);
  EventRing reader = ring.reader();
  int written = 0;
  for (int i = 0; i < 10; ++i) written += ring.write(entry_of(RawFault{})) ? 1 : 0;
  EXPECT_FALSE(ring.write(entry_of(Replay{})));
  DriverEvents events;
  reader.drain(events);
  EXPECT_EQ(written, 7);
  EXPECT_EQ(events.faults.size(), 7u);
  EXPECT_EQ(reader.take_dropped(), 4u);
  EXPECT_EQ(reader.take_dropped(), 0u);
  EXPECT_TRUE(ring.write(entry_of(Replay{})));
  reader.drain(events);
  EXPECT_EQ(events.replays.size(), 1u);
}

TEST(EventRing, CountsUnknownTypesAndMasksPositions) {
  Ring ring(8);
  Entry other{};
  other[0] = 10;
  ring.write(other);
  EventRing reader = ring.reader();
  DriverEvents events;
  reader.drain(events);
  EXPECT_EQ(events.unknown, 1u);
  EXPECT_EQ(events.size(), 0u);
  ring.control->put_behind = 8 + 3;  // a position that has not been masked
  reader.drain(events);
  EXPECT_EQ(ring.control->get_behind, 3u);
}

}  // namespace
}  // namespace uvmtrace::faults
