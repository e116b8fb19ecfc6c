// SPDX-License-Identifier: Apache-2.0
// A route policy from a shared library changes the links that transfers take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/conformance/conformance.h"
#include "sim/policy/plugin.h"
#include "sim/policy/registry.h"
#include "tests/engine/program.h"

namespace uvmsim::policy {
namespace {

// The links that carried a program's memory, and its time on two GPUs that NVLink connects.
struct Ran {
  std::uint64_t own = 0, peers = 0, across = 0;
  Nanoseconds total{};
};

// The built-ins, and a router from a plug-in.
std::shared_ptr<const Registry> with_detour() {
  const auto registry = std::make_shared<Registry>(*built_ins());
  load_plugin(*registry, UVMSIM_TEST_PLUGINS "/detour.so");
  return registry;
}

Ran run_with(const std::string& route, const GivenParameters& given = {}) {
  uvmsim::Program program;
  const trace::ObjectId id = program.alloc(4 * kBlockBytes);
  program.host(id);
  program.prefetch(id, 0);
  program.kernel("k", 1000, {id});
  program.sync();
  RunOptions options = options_with(0);
  options.system.gpus.assign(2, options.system.gpus.front());
  options.system.host_links.assign(2, options.system.host_links.front());
  config::PeerLinkConfig link;
  link.kind = "nvlink";
  link.second_gpu = 1;
  link.each_way = {.latency_ns = 1000, .run_ns = 500, .bytes_per_us = 40000, .remote_read_bytes_per_us = 30000};
  options.system.peer_links.push_back(link);
  options.registry = with_detour();
  options.route = {route, given};
  Watched events;
  Ran ran;
  ran.total = program.run(options, &events).total;
  for (const TransferEvent& copy : events.transfers) {
    if (copy.direction == TransferDirection::kDeviceToDevice) {
      ran.across += copy.bytes;
    } else if (copy.direction == TransferDirection::kHostToDevice) {
      (copy.device == 0 ? ran.own : ran.peers) += copy.bytes;
    }
  }
  return ran;
}

TEST(RoutePlugin, SendsMemoryAnotherWay) {
  const Ran direct = run_with("direct"), around = run_with("detour"), impossible = run_with("detour", {{"gpu", "7"}});
  EXPECT_EQ(direct.own, 4 * kBlockBytes);
  EXPECT_EQ(direct.peers + direct.across, 0u);
  EXPECT_EQ(around.own, 0u);
  EXPECT_EQ(around.peers, 4 * kBlockBytes);
  EXPECT_EQ(around.across, 4 * kBlockBytes);
  EXPECT_GT(around.total, direct.total);
  EXPECT_EQ(impossible.total, direct.total);
  const auto registry = with_detour();
  const PolicyEntry& entry = registry->find(Slot::kRoute, "detour");
  EXPECT_EQ(entry.info.information, InformationClass::kD3);
  for (const conformance::Verdict& verdict : conformance::check_policy(entry, {.registry = registry})) {
    EXPECT_TRUE(verdict.passed) << verdict.check << ": " << verdict.text;
  }
}

}  // namespace
}  // namespace uvmsim::policy
