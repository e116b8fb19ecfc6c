// SPDX-License-Identifier: Apache-2.0
// Tests of several GPUs: pages that move between them, with and without a link, and mappings of another GPU's memory.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>

#include "sim/engine/audit.h"
#include "tests/driver/driver_harness.h"

namespace uvmsim::driver {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kKibi = 1024;

config::SystemConfig nvlink_pair(unsigned gpus = 2) {
  config::SystemConfig system = tiny_system(gpus);
  config::PeerLinkConfig link;
  link.kind = "nvlink";
  link.second_gpu = 1;
  link.each_way = {.latency_ns = 2000, .run_ns = 1000, .bytes_per_us = 100000, .remote_read_bytes_per_us = 90000};
  system.peer_links = {link};
  return system;
}

std::vector<std::uint64_t> bytes_of(const std::vector<TransferEvent>& transfers) {
  std::vector<std::uint64_t> bytes;
  for (const TransferEvent& transfer : transfers) bytes.push_back(transfer.bytes);
  return bytes;
}

void audit(Machine& machine) { engine::audit_memory(machine.space, machine.gpus, machine.context.host_resident_pages); }

TEST(Peers, AFaultMovesPagesOverTheLinkInOnePush) {
  Machine machine(4, nvlink_pair());
  const BlockIndex block = machine.allocate();
  machine.gpu_fill(block, true);
  machine.events.clear();
  machine.gpu_read(block, pages({0}), 1);
  ASSERT_THAT(bytes_of(machine.events.transfers), ElementsAre(4 * kKibi, 60 * kKibi));
  for (const TransferEvent& transfer : machine.events.transfers) {
    EXPECT_EQ(transfer.direction, TransferDirection::kDeviceToDevice);
    EXPECT_EQ(transfer.device, 1);
    EXPECT_EQ(transfer.source, 0);
  }
  // The first run takes the latency and 4 KB at 100 GB/s, the second the time of a further run and 60 KB.
  const auto& [first, second] = std::pair(machine.events.transfers[0], machine.events.transfers[1]);
  EXPECT_EQ((first.end - first.start).value, 2000 + 41);
  EXPECT_EQ((second.end - second.start).value, 1000 + 615);
  EXPECT_EQ(machine.counters.dtod_fault_bytes, 4 * kKibi);
  EXPECT_EQ(machine.counters.dtod_prefetch_bytes, 60 * kKibi);
  EXPECT_EQ(machine.counters.dtoh_fault_bytes + machine.counters.htod_fault_bytes, 0u);
  EXPECT_EQ(machine.space.pages(block, gpu_processor(0)).resident.count(), 512u - 16);
  EXPECT_EQ(machine.space.pages(block, gpu_processor(1)).resident, page_range(0, 16));
  audit(machine);
}

TEST(Peers, WithoutALinkPagesGoThroughTheHost) {
  Machine machine(4, tiny_system(2));
  const BlockIndex block = machine.allocate();
  machine.gpu_fill(block, true);
  machine.events.clear();
  machine.gpu_read(block, pages({0}), 1);
  std::vector<TransferDirection> directions;
  for (const TransferEvent& transfer : machine.events.transfers) directions.push_back(transfer.direction);
  EXPECT_THAT(directions, ElementsAre(TransferDirection::kDeviceToHost, TransferDirection::kDeviceToHost,
                                      TransferDirection::kHostToDevice, TransferDirection::kHostToDevice));
  EXPECT_EQ(machine.counters.dtod_fault_bytes + machine.counters.dtod_prefetch_bytes, 0u);
  audit(machine);
}

TEST(Peers, WithoutALinkPagesGoDownWhenTheyHaveComeUp) {
  Machine machine(4, tiny_system(2));
  const BlockIndex block = machine.allocate();
  machine.gpu_fill(block, true);
  machine.events.clear();
  machine.gpu_read(block, PageMask::all(), 1);
  Nanoseconds up{}, down{INT64_MAX};
  for (const TransferEvent& transfer : machine.events.transfers) {
    if (transfer.direction == TransferDirection::kDeviceToHost) up = std::max(up, transfer.end);
    if (transfer.direction == TransferDirection::kHostToDevice) down = std::min(down, transfer.start);
  }
  EXPECT_GE(down, up);
}

TEST(Peers, OnlyTheGpusOfALinkAreJoined) {
  Machine machine(4, nvlink_pair(3));
  const BlockIndex block = machine.allocate();
  machine.gpu_write(block, pages({0}), 2);
  machine.events.clear();
  machine.gpu_read(block, pages({0}), 1);
  ASSERT_THAT(machine.events.transfers, SizeIs(4));
  EXPECT_EQ(machine.events.transfers[0].direction, TransferDirection::kDeviceToHost);
  audit(machine);
}

TEST(Peers, PreferredLocationOnAPeerIsMappedNotMoved) {
  Machine machine(4, nvlink_pair());
  const BlockIndex block = machine.allocate();
  machine.gpu_fill(block, true);
  machine.advise(block, trace::Advice::kSetPreferredLocation, gpu_processor(0));
  machine.events.clear();
  machine.gpu_read(block, pages({0}), 1);
  // The tree includes all pages that are resident at the destination (measured: one 2 MB mapping per fault).
  EXPECT_THAT(machine.events.transfers, IsEmpty());
  ASSERT_THAT(machine.events.remote_maps, SizeIs(1));
  EXPECT_EQ(machine.events.remote_maps[0].bytes, kBlockBytes);
  EXPECT_EQ(machine.space.pages(block, gpu_processor(1)).mapped.count(), 512u);
  audit(machine);
}

TEST(Peers, PreferredLocationWithoutALinkIsNotReached) {
  Machine machine(4, tiny_system(2));
  const BlockIndex block = machine.allocate();
  machine.gpu_fill(block, true);
  machine.advise(block, trace::Advice::kSetPreferredLocation, gpu_processor(0));
  machine.gpu_read(block, pages({0}), 1);
  EXPECT_TRUE(machine.space.pages(block, gpu_processor(1)).resident.test(0));
}

TEST(Peers, FirstTouchPopulatesAPreferredPeer) {
  Machine machine(4, nvlink_pair());
  const BlockIndex block = machine.allocate();
  machine.advise(block, trace::Advice::kSetPreferredLocation, gpu_processor(0));
  machine.gpu_write(block, pages({0}), 1);
  EXPECT_TRUE(machine.space.pages(block, gpu_processor(0)).resident.test(0));
  EXPECT_FALSE(machine.space.pages(block, gpu_processor(1)).resident.test(0));
  EXPECT_TRUE(machine.space.pages(block, gpu_processor(1)).writable.test(0));
  audit(machine);
}

TEST(Peers, AccessedByMapsAPeersPagesAndFollowsThem) {
  Machine machine(4, nvlink_pair());
  const BlockIndex block = machine.allocate();
  machine.gpu_fill(block, true);
  machine.advise(block, trace::Advice::kSetAccessedBy, gpu_processor(1));
  EXPECT_EQ(machine.space.pages(block, gpu_processor(1)).mapped.count(), 512u);
  machine.cpu_write(block, 0);  // to the host: mapped there again
  EXPECT_EQ(machine.space.pages(block, gpu_processor(1)).mapped.count(), 512u);
  machine.gpu_write(block, pages({0}), 0);  // and back
  EXPECT_EQ(machine.space.pages(block, gpu_processor(1)).mapped.count(), 512u);
  EXPECT_EQ(machine.space.pages(block, gpu_processor(1)).resident.count(), 0u);
  audit(machine);
}

// Measured (peer_advise3, peer_in_place): the second pass of a prefetch over pages that are there removes no mappings.
TEST(Peers, AMappingOutlivesAPrefetchOfWhatIsThereAlready) {
  Machine machine(4, nvlink_pair());
  const BlockIndex block = machine.allocate();
  machine.advise(block, trace::Advice::kSetPreferredLocation, gpu_processor(1));
  machine.advise(block, trace::Advice::kSetAccessedBy, gpu_processor(0));
  for (int call = 0; call < 2; ++call) {
    machine.prefetch({block}, gpu_processor(1));
    EXPECT_EQ(machine.space.pages(block, gpu_processor(1)).resident.count(), 512u);
    EXPECT_EQ(machine.space.pages(block, gpu_processor(0)).mapped.count(), 512u);
  }
  EXPECT_THAT(machine.events.transfers, IsEmpty());
  audit(machine);
}

// Measured (peer_checker64k, peer_vadd).
TEST(Peers, APeersPagesStartBeforeTheHostsAndBothMoveSideBySide) {
  Machine machine(4, nvlink_pair());
  const BlockIndex block = machine.allocate();
  machine.gpu_fill(block, true);
  machine.cpu_write(block, 0);
  ASSERT_EQ(machine.space.pages(block, kHost).resident.count(), 16u);
  machine.events.clear();
  machine.prefetch({block}, gpu_processor(1));
  ASSERT_THAT(machine.events.transfers, SizeIs(2));
  const TransferEvent& from_peer = machine.events.transfers[0];
  const TransferEvent& from_host = machine.events.transfers[1];
  EXPECT_EQ(from_peer.direction, TransferDirection::kDeviceToDevice);
  EXPECT_EQ(from_peer.bytes, 496 * 4 * kKibi);
  EXPECT_EQ(from_host.direction, TransferDirection::kHostToDevice);
  EXPECT_EQ(from_host.bytes, 16 * 4 * kKibi);
  EXPECT_LT(from_peer.start, from_host.start);
  EXPECT_LT(from_host.start, from_peer.end);
  audit(machine);
}

TEST(Peers, ReadDuplicationCopiesOverTheLinkAndAWriteEndsIt) {
  Machine machine(4, nvlink_pair());
  const BlockIndex block = machine.allocate();
  machine.gpu_fill(block, true);
  machine.advise(block, trace::Advice::kSetReadMostly, kHost);
  machine.gpu_read(block, pages({0}), 1);
  EXPECT_EQ(machine.counters.dtod_fault_bytes, 4 * kKibi);
  EXPECT_TRUE(machine.space.pages(block, gpu_processor(0)).resident.test(0));
  EXPECT_TRUE(machine.space.pages(block, gpu_processor(1)).resident.test(0));
  audit(machine);
  machine.gpu_write(block, pages({0}), 1);
  EXPECT_FALSE(machine.space.pages(block, gpu_processor(0)).resident.test(0));
  EXPECT_FALSE(machine.space.block(block).read_duplicated.test(0));
  audit(machine);
}

TEST(Peers, EvictionTakesThePeersMappings) {
  Machine machine(2, nvlink_pair());
  const BlockIndex first = machine.allocate(3 * kBlockBytes);
  machine.gpu_fill(first, true);
  machine.advise(first, trace::Advice::kSetPreferredLocation, gpu_processor(0));
  machine.gpu_read(first, pages({0}), 1);
  machine.gpu_fill(BlockIndex(first.value + 1), true);
  machine.gpu_fill(BlockIndex(first.value + 2), true);
  EXPECT_TRUE(machine.space.pages(first, gpu_processor(0)).resident.empty());
  EXPECT_TRUE(machine.space.pages(first, gpu_processor(1)).mapped.empty());
  audit(machine);
}

TEST(Peers, AThrashingPageIsPinnedWhereItIs) {
  Machine machine(4, nvlink_pair());
  const BlockIndex block = machine.allocate();
  for (unsigned turn = 0; turn < 8; ++turn) machine.gpu_write(block, pages({0}), turn % 2);
  // As in the driver, after three events all processors that contend for the page map it where it resides.
  EXPECT_GT(machine.counters.pins, 0u);
  EXPECT_TRUE(machine.space.pages(block, gpu_processor(0)).mapped.test(0));
  EXPECT_TRUE(machine.space.pages(block, gpu_processor(1)).mapped.test(0));
  EXPECT_EQ(machine.space.pages(block, gpu_processor(0)).resident.test(0) +
                machine.space.pages(block, gpu_processor(1)).resident.test(0),
            1);
  audit(machine);
}

}  // namespace
}  // namespace uvmsim::driver
