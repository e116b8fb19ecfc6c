// SPDX-License-Identifier: Apache-2.0
// Route policies in whole programs on several GPUs: their effects, their notifications, and repeated runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/policy/registry.h"
#include "tests/engine/program.h"

namespace uvmsim::policy {
namespace {

using ::testing::ElementsAre;

// Returns the options of three GPUs in a row, 0 - 1 - 2, of `chunks` chunks each.
RunOptions in_a_row(const std::string& route, std::uint64_t chunks, const GivenParameters& given = {}) {
  RunOptions options = options_with(chunks);
  options.system.gpus.assign(3, options.system.gpus.front());
  options.system.host_links.assign(3, options.system.host_links.front());
  for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
    config::PeerLinkConfig link;
    link.kind = "nvlink";
    link.first_gpu = gpu;
    link.second_gpu = gpu + 1;
    link.each_way = {.latency_ns = 1000, .run_ns = 500, .bytes_per_us = 40000, .remote_read_bytes_per_us = 30000};
    options.system.peer_links.push_back(link);
  }
  options.route = {route, given};
  return options;
}

// Returns a program in which GPU 0 and GPU 2 use the same blocks in turn, more than fit, iteration after iteration.
uvmsim::Program to_and_fro(int iterations) {
  uvmsim::Program program;
  std::vector<trace::ObjectId> objects;
  for (int i = 0; i < 4; ++i) objects.push_back(program.alloc(2 * kBlockBytes));
  for (int i = 0; i < iterations; ++i) {
    program.add(trace::Range{trace::RangeKind::kIterationBegin, "", static_cast<std::uint64_t>(i)});
    for (const trace::ObjectId id : objects) {
      program.kernel("a", 10000, {}, {id}).device = 0;
      program.sync();
      program.kernel("b", 10000, {}, {id}, 1).device = 2;
      program.sync();
    }
    program.add(trace::Range{trace::RangeKind::kIterationEnd, "", static_cast<std::uint64_t>(i)});
  }
  return program;
}

std::uint64_t between_gpus(const Counters& c) {
  return c.dtod_fault_bytes + c.dtod_prefetch_bytes + c.dtod_user_bytes + c.dtod_evict_bytes;
}

TEST(Route, WhatNoLinkJoinsMayGoThroughAGpu) {
  const uvmsim::Program program = to_and_fro(2);
  const RunResult direct = program.run(in_a_row("direct", 0));
  const RunResult demand = program.run(in_a_row("multipath", 0, {{"demand", "true"}}));
  EXPECT_EQ(between_gpus(direct.counters), 0u);
  EXPECT_GT(between_gpus(demand.counters), 0u);
  EXPECT_EQ(between_gpus(demand.counters) % 2, 0u);
  EXPECT_LT(demand.total, direct.total) << "NVLink twice instead of PCIe twice";
  EXPECT_EQ(program.run(in_a_row("host_bounce", 0)).total, direct.total) << "the driver bounces these, too";
  EXPECT_EQ(program.run(in_a_row("min_pending", 0)).total, direct.total);
}

// Four GPUs are all linked with each other. One is at work, over a host link far slower than those links. The driver's
// own work separates the copies.
TEST(Route, StripesAddUpTheHostLinks) {
  RunOptions options = options_with(4);
  options.system.gpus.assign(4, options.system.gpus.front());
  options.system.host_links.assign(4, options.system.host_links.front());
  for (auto& link : options.system.host_links) {
    link.host_to_device.bytes_per_us = link.device_to_host.bytes_per_us = 2000;
  }
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) {
    for (std::uint32_t other = gpu + 1; other < 4; ++other) {
      config::PeerLinkConfig link;
      link.kind = "nvlink";
      link.first_gpu = gpu;
      link.second_gpu = other;
      link.each_way = {.latency_ns = 1000, .run_ns = 500, .bytes_per_us = 200000, .remote_read_bytes_per_us = 30000};
      options.system.peer_links.push_back(link);
    }
  }
  uvmsim::Program program;
  const trace::ObjectId id = program.alloc(16 * kBlockBytes);
  program.host(id);
  program.kernel("k", 1000, {id}).device = 0;
  program.sync();
  options.prefetch.name = "always_2mb";
  const auto time = [&](const char* name, const GivenParameters& given) {
    options.route = {name, given};
    return static_cast<double>(program.run(options).total.value);
  };
  const double direct = time("direct", {});
  EXPECT_LT(time("striped", {}), direct / 2.5);
  EXPECT_GT(time("striped", {}), direct / 4);
  EXPECT_LT(time("striped", {{"gpus", "1"}}), direct / 1.6);
  EXPECT_EQ(time("striped", {{"gpus", "0"}}), direct);
  EXPECT_EQ(time("striped", {{"least_bytes", "2097152"}, {"gpus", "3"}}), time("striped", {}));
}

// Counts its notifications.
class Hearing : public Router {
 public:
  static ParameterTable parameters() { return {}; }
  explicit Hearing(const PolicyContext&) {}
  Route route(const Move&, const RouteQueries&) override { return {}; }
  void on_kernels(unsigned gpu, unsigned running) override { heard.emplace_back(gpu, running); }
  static inline std::vector<std::pair<unsigned, unsigned>> heard;
  static PolicyInfo info() {
    return {.description = "a router of class D3", .source = "a test", .information = InformationClass::kD3};
  }
};

TEST(Route, ClassD3HearsWhichGpusWork) {
  const auto registry = std::make_shared<Registry>(*built_ins());
  add_policy<Hearing>(*registry, "hearing");
  RunOptions options = in_a_row("hearing", 0);
  options.registry = registry;
  uvmsim::Program program;
  const trace::ObjectId id = program.alloc(kBlockBytes);
  program.host(id);
  program.kernel("k", 1000, {id}).device = 0;
  program.sync();
  program.kernel("k", 1000, {id}, {}, 1).device = 1;
  program.sync();
  Hearing::heard.clear();
  program.run(options);
  // One instance per GPU: each gets all notifications.
  std::vector<std::pair<unsigned, unsigned>> once;
  for (std::size_t i = 0; i < Hearing::heard.size(); i += 3) once.push_back(Hearing::heard[i]);
  EXPECT_EQ(Hearing::heard.size(), 12u);
  EXPECT_THAT(once, ElementsAre(std::pair(0u, 1u), std::pair(0u, 0u), std::pair(1u, 1u), std::pair(1u, 0u)));
}

// The replay skips recurring iterations with every built-in, and the result equals that of a full replay.
TEST(Route, RepeatedIterationsAreTheSame) {
  for (const PolicyEntry* entry : built_ins()->list()) {
    if (entry->slot != Slot::kRoute || entry->origin != "built-in" || entry->joint()) continue;
    if (entry->info.name == "hearing") continue;
    SCOPED_TRACE(entry->info.name);
    const uvmsim::Program program = to_and_fro(3);
    RunOptions options = in_a_row(entry->info.name, 4);
    options.iterations = 40;
    const RunResult left_out = program.run(options);
    Watched everything;  // a watcher of events prevents skipping
    const RunResult replayed = program.run(options, &everything);
    EXPECT_EQ(left_out.total, replayed.total);
    EXPECT_EQ(left_out.counters.evictions, replayed.counters.evictions);
    EXPECT_EQ(between_gpus(left_out.counters), between_gpus(replayed.counters));
    EXPECT_GT(left_out.counters.evictions, 0u);
  }
}

}  // namespace
}  // namespace uvmsim::policy
