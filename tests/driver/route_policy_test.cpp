// SPDX-License-Identifier: Apache-2.0
// Tests of the slot `route`: over which links memory moves, how long this takes, and which routes are refused.
#include <gmock/gmock.h>

#include <functional>

#include "sim/common/check.h"
#include "sim/config/load_system.h"
#include "sim/driver/routing.h"
#include "tests/driver/harvest_machine.h"

namespace uvmsim::driver::route_policy_test {
namespace {

using policy::Move;
using policy::MoveCause;
using policy::Route;
using policy::RouteQueries;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Links GPUs in a row: 0 - 1 - 2.
config::SystemConfig row_of(unsigned gpus) {
  config::SystemConfig system = nvlink(gpus);
  std::erase_if(system.peer_links, [](const auto& link) { return link.second_gpu != link.first_gpu + 1; });
  return system;
}

// A router that answers as told and records the questions.
struct Scripted final : policy::Router {
  explicit Scripted(std::function<Route(const Move&, const RouteQueries&)> answer) : answer(std::move(answer)) {}
  Route route(const Move& move, const RouteQueries& queries) override {
    moves.push_back(move);
    return answer(move, queries);
  }
  std::function<Route(const Move&, const RouteQueries&)> answer;
  std::vector<Move> moves;
};

std::shared_ptr<Scripted> script(Machine& machine, std::function<Route(const Move&, const RouteQueries&)> answer) {
  auto scripted = std::make_shared<Scripted>(std::move(answer));
  machine.use_router(scripted);
  return scripted;
}

std::shared_ptr<Scripted> always(Machine& machine, Route route) {
  return script(machine, [route](const Move&, const RouteQueries&) { return route; });
}

// Returns the copies' ends, the host as H and GPUs by number: "H>0", "0>1".
std::vector<std::string> hops(const Machine& machine) {
  std::vector<std::string> out;
  for (const TransferEvent& copy : machine.events.transfers) {
    const std::string device = std::to_string(copy.device);
    out.push_back(copy.direction == TransferDirection::kHostToDevice   ? "H>" + device
                  : copy.direction == TransferDirection::kDeviceToHost ? device + ">H"
                                                                       : std::to_string(copy.source) + ">" + device);
  }
  return out;
}

std::uint64_t bytes_over(const Machine& machine, const std::string& hop) {
  const std::vector<std::string> all = hops(machine);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < all.size(); ++i) bytes += all[i] == hop ? machine.events.transfers[i].bytes : 0;
  return bytes;
}

std::uint64_t between_gpus(const Counters& c) {
  return c.dtod_fault_bytes + c.dtod_prefetch_bytes + c.dtod_user_bytes + c.dtod_evict_bytes;
}

void audit(Machine& machine) {
  engine::audit_memory(machine.space, machine.gpus, machine.context.host_resident_pages);
  machine.check();
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ModelError& error) {
    return error.what();
  }
  return "no ModelError";
}

TEST(Route, BetweenGpusDirectlyOrThroughTheHost) {
  for (const char* name : {"direct", "host_bounce"}) {
    SCOPED_TRACE(name);
    Machine machine(4, nvlink());
    machine.use_router(name);
    const BlockIndex block = machine.allocate();
    machine.gpu_fill(block, true);
    machine.events.clear();
    machine.prefetch({block}, gpu_processor(1));
    const auto& copies = machine.events.transfers;
    if (name == std::string("direct")) {
      ASSERT_THAT(hops(machine), ElementsAre("0>1"));
      EXPECT_EQ((copies[0].end - copies[0].start).value, 2000 + 20972) << "2 MiB at 100 GB/s";
      EXPECT_EQ(between_gpus(machine.counters), kBlockBytes);
    } else {
      ASSERT_THAT(hops(machine), ElementsAre("0>H", "H>1"));
      EXPECT_EQ((copies[0].end - copies[0].start).value, 1500 + 41944) << "2 MiB at 50 GB/s";
      EXPECT_EQ((copies[1].end - copies[1].start).value, 1500 + 41944);
      EXPECT_GE(copies[1].start, copies[0].end) << "hop by hop";
      EXPECT_EQ(between_gpus(machine.counters), 0u);
    }
    EXPECT_EQ(machine.on_gpu(block, 1).resident, PageMask::all());
    EXPECT_EQ(machine.on_gpu(block, 0).resident, PageMask{});
    audit(machine);
  }
}

TEST(Route, ThroughAGpuWhereNoLinkJoinsTheEnds) {
  Machine machine(4, row_of(3));
  const BlockIndex block = machine.allocate(2 * kBlockBytes);
  machine.gpu_fill(block, true);
  machine.gpu_fill(block_of(block, 1), true);
  machine.events.clear();
  machine.prefetch({block}, gpu_processor(2));
  EXPECT_THAT(hops(machine), ElementsAre("0>H", "H>2")) << "the driver's way";

  const auto router = always(machine, {Route::Way::kGpu, 1});
  machine.events.clear();
  machine.prefetch({block_of(block, 1)}, gpu_processor(2));
  ASSERT_THAT(hops(machine), ElementsAre("0>1", "1>2"));
  const auto& copies = machine.events.transfers;
  EXPECT_GE(copies[1].start, copies[0].end) << "hop by hop";
  EXPECT_EQ((copies[0].end - copies[0].start).value, 2000 + 20972);
  EXPECT_EQ((copies[1].end - copies[1].start).value, 2000 + 20972);
  EXPECT_EQ(machine.on_gpu(block_of(block, 1), 2).resident, PageMask::all());
  EXPECT_EQ(machine.on_gpu(block_of(block, 1), 1).resident, PageMask{}) << "nothing stays on the way";
  ASSERT_EQ(router->moves.size(), 1u);
  EXPECT_EQ(router->moves[0].block, block_of(block, 1));
  EXPECT_EQ(router->moves[0].bytes, kBlockBytes);
  EXPECT_EQ(router->moves[0].from, gpu_processor(0));
  EXPECT_EQ(router->moves[0].to, gpu_processor(2));
  EXPECT_EQ(router->moves[0].cause, MoveCause::kUser);
  EXPECT_FALSE(router->moves[0].may_stay || router->moves[0].may_wait);
  audit(machine);
}

TEST(Route, FromAndToTheHostThroughAGpu) {
  Machine machine(1, nvlink());
  always(machine, {Route::Way::kGpu, 1});
  const BlockIndex block = machine.allocate(2 * kBlockBytes);
  machine.cpu_fill(block);
  machine.events.clear();
  machine.prefetch({block}, gpu_processor(0));
  EXPECT_THAT(hops(machine), ElementsAre("H>1", "1>0"));
  EXPECT_EQ(machine.on_gpu(block, 0).resident, PageMask::all());
  EXPECT_EQ(machine.on_host(block).resident, PageMask{});
  EXPECT_EQ(machine.counters.htod_user_bytes, kBlockBytes);
  EXPECT_EQ(machine.counters.dtod_user_bytes, kBlockBytes);
  audit(machine);
  // The next block evicts it, the same way.
  machine.gpu_write(block_of(block, 1), pages({0}));
  EXPECT_EQ(machine.counters.dtoh_evict_bytes, kBlockBytes);
  EXPECT_EQ(machine.counters.dtod_evict_bytes, kBlockBytes);
  EXPECT_EQ(bytes_over(machine, "1>H"), kBlockBytes);
  EXPECT_EQ(bytes_over(machine, "0>H"), 0u);
  EXPECT_EQ(machine.on_host(block).resident, PageMask::all());
  EXPECT_EQ(machine.on_gpu(block, 1).resident, PageMask{});
  audit(machine);
}

Route striped(std::uint16_t direct, std::initializer_list<std::pair<unsigned, std::uint16_t>> through) {
  Route route{Route::Way::kStriped, 0};
  route.direct = direct;
  for (const auto& [gpu, weight] : through) route.through[gpu] = weight;
  return route;
}

TEST(Route, StripesOfABlockGoSideBySide) {
  Machine machine(1, nvlink(3));
  always(machine, striped(3, {{1, 4}, {2, 1}}));
  const BlockIndex block = machine.allocate(2 * kBlockBytes);
  machine.cpu_fill(block);
  machine.events.clear();
  machine.prefetch({block}, gpu_processor(0));
  ASSERT_THAT(hops(machine), ElementsAre("H>0", "H>1", "1>0", "H>2", "2>0"));
  const auto& copies = machine.events.transfers;
  const std::uint64_t eighth = kBlockBytes / 8;
  for (const auto& [copy, eighths, at] : {std::tuple(0, 3, 0), {1, 4, 3}, {2, 4, 3}, {3, 1, 7}, {4, 1, 7}}) {
    EXPECT_EQ(copies[static_cast<std::size_t>(copy)].bytes, static_cast<std::uint64_t>(eighths) * eighth) << copy;
    EXPECT_EQ(copies[static_cast<std::size_t>(copy)].address - copies[0].address,
              static_cast<std::uint64_t>(at) * eighth)
        << copy;
  }
  EXPECT_LT(copies[1].start, copies[0].end) << "side by side";
  EXPECT_LT(copies[3].start, copies[0].end);
  EXPECT_GE(copies[2].start, copies[1].end) << "hop by hop";
  EXPECT_GE(copies[4].start, copies[3].end);
  EXPECT_EQ(machine.on_gpu(block, 0).resident, PageMask::all());
  EXPECT_EQ(machine.on_gpu(block, 1).resident, PageMask{}) << "nothing stays on the way";
  EXPECT_EQ(machine.counters.htod_user_bytes, kBlockBytes);
  audit(machine);
  // The next block evicts it, the same ways.
  machine.gpu_write(block_of(block, 1), pages({0}));
  EXPECT_EQ(bytes_over(machine, "0>H"), 3 * eighth);
  EXPECT_EQ(bytes_over(machine, "1>H"), 4 * eighth);
  EXPECT_EQ(bytes_over(machine, "2>H"), eighth);
  EXPECT_EQ(machine.on_host(block).resident, PageMask::all());
  audit(machine);
}

TEST(Route, StripesBetweenGpus) {
  Machine machine(4, nvlink(3));
  const BlockIndex block = machine.allocate();
  machine.gpu_fill(block, true);
  always(machine, striped(1, {{2, 1}}));
  machine.events.clear();
  machine.prefetch({block}, gpu_processor(1));
  EXPECT_THAT(hops(machine), ElementsAre("0>1", "0>2", "2>1"));
  EXPECT_EQ(bytes_over(machine, "0>1"), kBlockBytes / 2);
  EXPECT_EQ(bytes_over(machine, "2>1"), kBlockBytes / 2);
  EXPECT_EQ(machine.on_gpu(block, 1).resident, PageMask::all());
  EXPECT_EQ(machine.on_gpu(block, 0).resident, PageMask{});
  audit(machine);
}

// The built-in policy uses links that copy a block in 6 us, as NVLink does, and a detour over two of them.
TEST(Route, StripesAreAsLargeAsTheirWaysAreFast) {
  config::SystemConfig system = nvlink(3);
  for (config::PeerLinkConfig& link : system.peer_links) {
    link.each_way.latency_ns = 500;
    link.each_way.bytes_per_us = 400000;
  }
  Machine machine(4, system);
  machine.use_router("striped");
  const BlockIndex block = machine.allocate();
  machine.gpu_fill(block, true);
  machine.events.clear();
  machine.prefetch({block}, gpu_processor(1));
  EXPECT_THAT(hops(machine), ElementsAre("0>1", "0>2", "2>1"));
  EXPECT_NEAR(static_cast<double>(bytes_over(machine, "0>1")), 2.0 / 3 * kBlockBytes, kBlockBytes / 32);
  audit(machine);
}

// For any pages and weights, every page is in one stripe, and the size of each stripe differs from its share by less
// than a unit.
TEST(Route, StripesPartThePages) {
  Random random(1);
  for (int round = 0; round < 2000; ++round) {
    PageMask pages;
    for (std::uint64_t runs = 1 + random.below(6); runs != 0; --runs) {
      const auto first = static_cast<unsigned>(random.below(kPagesPerBlock));
      pages.set_range(first, 1 + static_cast<unsigned>(random.below(std::min(kPagesPerBlock - first, 200u))));
    }
    Route route = striped(static_cast<std::uint16_t>(random.below(4)), {});
    for (std::uint16_t& weight : route.through) {
      if (random.below(4) == 0) weight = static_cast<std::uint16_t>(random.below(65536));
    }
    if (route.direct == 0 && route.through[3] == 0) route.through[3] = 1;
    double weights = route.direct;
    for (const std::uint16_t weight : route.through) weights += weight;
    PageMask seen;
    const auto units = [](const PageMask& mask) { return mask.grown_to_big_pages().count() / kPagesPerBigPage; };
    for_each_stripe(route, pages, [&](const Route& way, const PageMask& stripe) {
      EXPECT_FALSE(stripe.empty());
      EXPECT_FALSE(stripe.intersects(seen));
      seen |= stripe;
      const double weight = way.way == Route::Way::kGpu ? route.through[way.gpu] : route.direct;
      EXPECT_LT(std::abs(static_cast<double>(units(stripe)) - static_cast<double>(units(pages)) * weight / weights), 1);
    });
    EXPECT_EQ(seen, pages);
  }
}

TEST(Route, ACpuFaultTakesTheWayOfTheGpuThatHoldsThePages) {
  Machine machine(4, nvlink());
  const BlockIndex block = machine.allocate();
  machine.gpu_fill(block, true);
  const auto router = always(machine, {Route::Way::kGpu, 1});
  machine.events.clear();
  machine.cpu_read(block, 0);
  EXPECT_EQ(bytes_over(machine, "0>1"), bytes_over(machine, "1>H"));
  EXPECT_EQ(bytes_over(machine, "0>H"), 0u);
  EXPECT_GT(bytes_over(machine, "1>H"), 0u);
  ASSERT_FALSE(router->moves.empty());
  EXPECT_EQ(router->moves[0].from, gpu_processor(0));
  EXPECT_EQ(router->moves[0].to, kHost);
  EXPECT_EQ(router->moves[0].cause, MoveCause::kFault);
  audit(machine);
}

TEST(Route, IsAskedOncePerMoveAndNeverOnAGpuAlone) {
  Machine machine(4, nvlink());
  const auto router = always(machine, {});
  const BlockIndex block = machine.allocate();
  machine.cpu_fill(block);
  EXPECT_TRUE(router->moves.empty()) << "nothing moved";
  machine.gpu_read(block, pages({0, 40, 300}));
  ASSERT_EQ(router->moves.size(), 1u) << "several runs of one block";
  EXPECT_EQ(router->moves[0].bytes, machine.counters.htod_fault_bytes + machine.counters.htod_prefetch_bytes);
  EXPECT_EQ(router->moves[0].cause, MoveCause::kFault);
  machine.gpu_read(block, pages({0}));
  EXPECT_EQ(router->moves.size(), 1u) << "a hit";
  const BlockIndex fresh = machine.allocate();
  machine.gpu_write(fresh, pages({0}));
  EXPECT_EQ(router->moves.size(), 1u) << "populated, not moved";

  Machine alone(1);
  const auto silent = always(alone, {});
  const BlockIndex own = alone.allocate(2 * kBlockBytes);
  alone.cpu_fill(own);
  alone.gpu_read(own, pages({0}));
  alone.gpu_write(block_of(own, 1), pages({0}));
  EXPECT_TRUE(silent->moves.empty());
  EXPECT_EQ(alone.counters.evictions, 1u);
}

TEST(Route, ADecisionCostsTheDriversThread) {
  const auto served = [](std::int64_t cost) {
    Machine machine(4, nvlink());
    always(machine, {});
    machine.context.route_decision_cost = Nanoseconds(cost);
    const BlockIndex block = machine.allocate();
    machine.cpu_fill(block);
    const Nanoseconds begin = machine.now;
    return machine.gpu_read(block, pages({0})).end - begin;
  };
  EXPECT_EQ(served(7000) - served(0), Nanoseconds(7000));
}

TEST(Route, QueriesTellOfLinksAndMemory) {
  Machine machine(4, row_of(3));
  const BlockIndex block = machine.allocate(2 * kBlockBytes);
  for (unsigned i = 0; i < 2; ++i) {
    machine.cpu_fill(block_of(block, i));
    machine.on_host(block_of(block, i)).mapped.clear();
    machine.on_host(block_of(block, i)).writable.clear();
  }
  bool looked = false;
  script(machine, [&](const Move& move, const RouteQueries& queries) {
    EXPECT_EQ(queries.gpu_count(), 3u);
    EXPECT_TRUE(queries.joined(kHost, gpu_processor(2)) && queries.joined(gpu_processor(2), kHost));
    EXPECT_TRUE(queries.joined(gpu_processor(0), gpu_processor(1)));
    EXPECT_FALSE(queries.joined(gpu_processor(0), gpu_processor(2)));
    EXPECT_FALSE(queries.joined(gpu_processor(0), gpu_processor(0)) || queries.joined(kHost, kHost));
    EXPECT_FALSE(queries.joined(gpu_processor(0), gpu_processor(9)) || queries.joined(kHost, kNoProcessor));
    EXPECT_EQ(queries.unloaded_time(kHost, gpu_processor(0), kBlockBytes), Nanoseconds(1500 + 41944));
    EXPECT_EQ(queries.unloaded_time(gpu_processor(0), gpu_processor(1), kBlockBytes), Nanoseconds(2000 + 20972));
    EXPECT_EQ(queries.unloaded_time(gpu_processor(0), gpu_processor(2), kBlockBytes), Nanoseconds{});
    EXPECT_EQ(queries.busy_until(kHost, gpu_processor(1)), Nanoseconds{});
    EXPECT_EQ(queries.free_chunks(1), 4u);
    EXPECT_EQ(queries.free_chunks(9), 0u);
    EXPECT_FALSE(queries.has_room(1) || queries.path_full(1) || queries.harvests(1));
    EXPECT_EQ(queries.pending_chunks(1), 0u);
    if (move.block == block_of(block, 1)) {
      EXPECT_GT(queries.busy_until(kHost, gpu_processor(0)), move.now) << "the block before is on its way";
      looked = true;
    }
    return Route{};
  });
  machine.prefetch({block, block_of(block, 1)}, gpu_processor(0));
  EXPECT_TRUE(looked);
}

TEST(Route, WhatCannotBeIsRefused) {
  const auto refusal = [](Route route, unsigned gpus = 3) {
    Machine machine(4, row_of(gpus));
    const BlockIndex block = machine.allocate();
    machine.cpu_fill(block);
    always(machine, route);
    return refusal_of([&] { machine.prefetch({block}, gpu_processor(0)); });
  };
  EXPECT_THAT(
      refusal({Route::Way::kGpu, 9}),
      HasSubstr("route policy 'script' sends block 0 from the host to GPU 0 through GPU 9, which does not exist"));
  EXPECT_THAT(refusal({Route::Way::kGpu, 0}), HasSubstr("through GPU 0, one of its ends"));
  EXPECT_THAT(refusal({Route::Way::kGpu, 2}), HasSubstr("through GPU 2, which no links join with both"));
  EXPECT_THAT(refusal({Route::Way::kSpare, 1}), HasSubstr("into spare memory of GPU 1, and this move may not stay"));
  EXPECT_THAT(refusal({Route::Way::kSpare, 3}), HasSubstr("into spare memory of GPU 3, which does not exist"));
  EXPECT_THAT(refusal({Route::Way::kLater, 0}), HasSubstr("later, and somebody waits for it"));
  EXPECT_THAT(refusal(striped(0, {})), HasSubstr("in stripes without any weight"));
  EXPECT_THAT(refusal(striped(1, {{2, 1}})), HasSubstr("in part through GPU 2, which no links join with both"));
  EXPECT_THAT(refusal(striped(1, {{0, 1}})), HasSubstr("in part through GPU 0, one of its ends"));
  EXPECT_THAT(refusal(striped(1, {{15, 1}})), HasSubstr("in part through GPU 15, which does not exist"));
  {
    Machine machine(4, row_of(3));
    const BlockIndex block = machine.allocate();
    machine.gpu_fill(block, true);
    always(machine, striped(1, {{1, 1}}));
    EXPECT_THAT(refusal_of([&] { machine.prefetch({block}, gpu_processor(2)); }),
                HasSubstr("in part directly, and no link joins its ends"));
  }
  EXPECT_THAT(refusal({static_cast<Route::Way>(77), 0}), HasSubstr("a way of number 77, which does not exist"));

  Harvesting full(1, {.victims = true, .reserve_chunks = 1});
  always(full, {Route::Way::kSpare, 1});
  const BlockIndex block = full.allocate(2 * kBlockBytes);
  full.gpu_write(block, pages({0}));
  EXPECT_THAT(refusal_of([&] { full.gpu_write(block_of(block, 1), pages({0})); }),
              HasSubstr("into spare memory of GPU 1, which has no room for it"));
}

TEST(Route, HarvestedMemoryIsChosenByTheRouter) {
  Harvesting machine(2, {.victims = true, .reserve_chunks = 0}, nvlink(4));
  const auto router = script(machine, [](const Move& move, const RouteQueries& queries) {
    if (!move.may_stay) return Route{};
    EXPECT_TRUE(queries.has_room(1) && queries.has_room(2) && queries.has_room(3));
    EXPECT_FALSE(queries.has_room(0) || queries.has_room(4));
    return Route{Route::Way::kSpare, 3};
  });
  const BlockIndex first = machine.allocate(3 * kBlockBytes);
  for (unsigned i = 0; i < 3; ++i) machine.gpu_fill(block_of(first, i), true);
  EXPECT_EQ(machine.harvest.where(first), 3u);
  ASSERT_EQ(router->moves.size(), 1u);
  EXPECT_EQ(router->moves[0].cause, MoveCause::kEvict);
  EXPECT_EQ(router->moves[0].to, kHost);
  EXPECT_EQ(router->moves[0].bytes, kBlockBytes);
  machine.check();
}

// Everything may go through the host even if spare memory is enabled: lent blocks return from there.
TEST(Route, HostBounceHarvestsNothing) {
  Harvesting machine(2, {.victims = true, .reserve_chunks = 0}, nvlink(2));
  const BlockIndex first = machine.allocate(5 * kBlockBytes);
  for (unsigned i = 0; i < 3; ++i) machine.gpu_fill(block_of(first, i), true);
  ASSERT_TRUE(machine.harvest.holds(first));
  machine.use_router("host_bounce");
  const std::uint64_t before = between_gpus(machine.counters);
  machine.prefetch({first}, gpu_processor(0));
  EXPECT_FALSE(machine.harvest.holds(first));
  EXPECT_EQ(machine.on(first, gpu_processor(0)), 512u);
  for (unsigned i = 3; i < 5; ++i) machine.gpu_fill(block_of(first, i), true);
  EXPECT_EQ(between_gpus(machine.counters), before);
  EXPECT_EQ(machine.counters.evictions_to_peers, 1u);
  machine.check();
}

// Eight blocks go from the host to GPU 0, at 50 GB/s over its own link, or over that of GPU 1 and from there at 100
// GB/s. The driver's thread is faster than the links, so that the links are the limit.
struct EightBlocks : Machine {
  static config::SystemConfig quick() {
    config::SystemConfig system = nvlink();
    system.costs.prefetch_copy_block_ns = 1000;
    system.costs.prefetch_copy_page_ns = 0;
    return system;
  }
  explicit EightBlocks(const std::string& route, const policy::GivenParameters& parameters = {}) : Machine(8, quick()) {
    use_router(route, parameters);
    const BlockIndex first = allocate(8 * kBlockBytes);
    for (unsigned i = 0; i < 8; ++i) {
      cpu_fill(block_of(first, i));
      on_host(block_of(first, i)).mapped.clear();
      on_host(block_of(first, i)).writable.clear();
    }
    events.clear();
    std::vector<BlockSpan> spans;
    for (unsigned i = 0; i < 8; ++i) spans.push_back({block_of(first, i), 0, kPagesPerBlock});
    user.prefetch(spans, gpu_processor(0), now);
    for (unsigned i = 0; i < 8; ++i) EXPECT_EQ(on_gpu(block_of(first, i)).resident, PageMask::all());
  }
  Nanoseconds took() const {
    Nanoseconds end{};
    for (const TransferEvent& copy : events.transfers) end = std::max(end, copy.end);
    return end - events.transfers.front().start;
  }
};

TEST(Route, TwoPathsShareATransfer) {
  constexpr std::int64_t kDown = 1500 + 41944, kAcross = 2000 + 20972;
  for (const char* name : {"direct", "host_bounce", "min_pending", "round_robin", "multipath"}) {
    SCOPED_TRACE(name);
    const EightBlocks one(name);
    EXPECT_EQ(bytes_over(one, "H>0"), 8 * kBlockBytes) << "somebody waits for it: the own link";
    const auto gap = static_cast<std::int64_t>(one.system.costs.push_gap_ns);
    EXPECT_EQ(one.took().value, 8 * kDown + 7 * gap);
  }
  const EightBlocks two("multipath", {{"demand", "true"}});
  EXPECT_EQ(bytes_over(two, "H>0"), 4 * kBlockBytes);
  EXPECT_EQ(bytes_over(two, "H>1"), 4 * kBlockBytes);
  EXPECT_EQ(bytes_over(two, "1>0"), 4 * kBlockBytes);
  const auto gap = static_cast<std::int64_t>(two.system.costs.push_gap_ns);
  const TransferEvent* around = nullptr;
  const TransferEvent* last = nullptr;
  for (const TransferEvent& copy : two.events.transfers) {
    if (copy.direction == TransferDirection::kHostToDevice && copy.device == 1 && around == nullptr) around = &copy;
    if (copy.direction == TransferDirection::kDeviceToDevice) last = &copy;
  }
  ASSERT_TRUE(around != nullptr && last != nullptr);
  EXPECT_EQ((last->end - around->start).value, 4 * kDown + 3 * gap + kAcross)
      << "four blocks, then the last one across";
}

// GPUs 0 and 5 of a DGX-1 are not neighbours; the route takes the common neighbour with the fastest links.
TEST(Route, AcrossADgx) {
  const auto took = [](Machine& machine) {
    EXPECT_EQ(machine.topology.peer(0, 5), nullptr);
    const BlockIndex block = machine.allocate();
    machine.gpu_fill(block, true);
    machine.events.clear();
    machine.prefetch({block}, gpu_processor(5));
    EXPECT_EQ(machine.on_gpu(block, 5).resident, PageMask::all());
    return machine.events.transfers.back().end - machine.events.transfers.front().start;
  };
  const config::SystemConfig dgx = config::load_system("dgx-v100");
  Machine driver(8, dgx), routed(8, dgx);
  routed.use_router("multipath", {{"demand", "true"}});
  const Nanoseconds through_host = took(driver), through_gpu = took(routed);
  EXPECT_THAT(hops(driver), ElementsAre("0>H", "H>5"));
  EXPECT_GT(static_cast<double>(through_host.value), kBlockBytes / 12.9) << "no faster than one of its two links";
  Nanoseconds best(INT64_MAX);
  std::string hop;
  for (unsigned gpu = 0; gpu < 8; ++gpu) {
    const link::Topology::Peer* there = routed.topology.peer(0, gpu);
    const link::Topology::Peer* on = routed.topology.peer(gpu, 5);
    if (there == nullptr || on == nullptr) continue;
    const Nanoseconds sum = there->engine.unloaded_time(kBlockBytes) + on->engine.unloaded_time(kBlockBytes);
    if (sum < best) hop = std::to_string(gpu);
    best = std::min(best, sum);
  }
  EXPECT_THAT(hops(routed), ElementsAre("0>" + hop, hop + ">5"));
  // The push of the second copy comes between the two copies.
  EXPECT_GE(through_gpu, best);
  EXPECT_LT(through_gpu - best, Nanoseconds(2000));
  EXPECT_LT(2 * through_gpu.value, 3 * through_host.value);
}

// Without harvesting and special parameters, all built-ins except host_bounce choose the driver's routes.
TEST(Route, TheBuiltInsDoAsTheDriverDoes) {
  for (const char* name : {"direct", "min_pending", "round_robin", "multipath"}) {
    SCOPED_TRACE(name);
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      Machine driver(3, row_of(3)), other(3, row_of(3));
      other.use_router(name);
      for (Machine* machine : {&driver, &other}) {
        Random random(seed);
        const BlockIndex first = machine->allocate(8 * kBlockBytes);
        for (int step = 0; step < 60; ++step) {
          const BlockIndex block = block_of(first, static_cast<unsigned>(random.below(8)));
          const auto page = static_cast<unsigned>(random.below(512));
          const auto gpu = static_cast<unsigned>(random.below(3));
          if (random.below(5) == 0) {
            machine->cpu_access(block, page, random.below(2) == 0);
          } else {
            machine->gpu_access(block, pages({page}), random.below(2) == 0, gpu);
          }
        }
      }
      EXPECT_EQ(driver.now, other.now);
      ASSERT_EQ(hops(driver), hops(other));
    }
  }
}

// The model's state is consistent for any answer of a router.
TEST(Route, RandomWaysKeepTheBooks) {
  std::uint64_t around = 0, bounced = 0, stayed = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    HarvestChoice choice{.victims = seed % 2 == 0,
                         .pre_evict = seed % 4 == 0,
                         .parallel_fetch = seed % 3 == 0,
                         .reserve_chunks = static_cast<std::uint32_t>(seed % 3),
                         .prefetch = seed % 2 == 0,
                         .prefetch_chunks = 4,
                         .prefetch_stride = 1};
    config::SystemConfig system = nvlink(3);
    if (seed % 5 == 4) limit_host(system, 6 * kBlockBytes);
    Harvesting machine(5, choice, system);
    Random ways(seed + 1000);
    script(machine, [&](const Move& move, const RouteQueries& queries) {
      const auto gpu = static_cast<unsigned>(ways.below(3));
      const auto way =
          move.may_stay && ways.below(2) == 0 ? Route::Way::kSpare : static_cast<Route::Way>(ways.below(6));
      Route first{way, gpu};
      first.direct = static_cast<std::uint16_t>(ways.below(3));
      first.through[gpu] = static_cast<std::uint16_t>(ways.below(3));
      for (const Route& route : {first, Route{Route::Way::kHost, 0}}) {
        if (!policy::route_error(route, move, queries).empty()) continue;
        around += policy::is_detour(route) ? 1 : 0;
        bounced += route.way == Route::Way::kHost ? 1 : 0;
        stayed += route.way == Route::Way::kSpare ? 1 : 0;
        return route;
      }
      return Route{};
    });
    const BlockIndex first = machine.allocate(16 * kBlockBytes);
    for (int step = 0; step < 150; ++step) {
      const auto gpu = static_cast<unsigned>(ways.below(3));
      const BlockIndex block = block_of(first, static_cast<unsigned>(ways.below(16)));
      const auto page = static_cast<unsigned>(ways.below(512));
      SCOPED_TRACE(fmt::format("step {}: GPU {}, block {}, page {}", step, gpu, block.value, page));
      switch (ways.below(8)) {
        case 0:
          machine.cpu_access(block, page, ways.below(2) == 0);
          break;
        case 1:
          machine.wait();
          break;
        case 2:
          machine.prefetch({block}, ways.below(3) == 0 ? kHost : gpu_processor(gpu));
          break;
        default:
          machine.gpu_access(block, pages({page}), ways.below(2) == 0, gpu);
      }
      machine.prefetch_until(machine.now);
      ASSERT_NO_THROW(machine.check());
    }
  }
  EXPECT_GT(around, 100u);
  EXPECT_GT(bounced, 100u);
  EXPECT_GT(stayed, 15u);
}

}  // namespace
}  // namespace uvmsim::driver::route_policy_test
