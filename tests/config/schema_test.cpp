// SPDX-License-Identifier: Apache-2.0
#include "sim/config/schema.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>

#include "sim/config/member_count.h"
#include "sim/config/parameter_tables.h"
#include "sim/formats/did_you_mean.h"
#include "sim/formats/printable.h"

namespace uvmsim::config {
namespace {

SystemConfig one_gpu() {
  SystemConfig config;
  config.gpus.resize(1);
  config.host_links.resize(1);
  return config;
}

// A new member of a struct in system.h needs its line in the table of that name in parameter_tables.h.
TEST(Schema, EveryMemberHasItsLine) {
  EXPECT_EQ(std::size(kGpu), member_count<GpuConfig>()) << "kGpu";
  EXPECT_EQ(std::size(kGmmu), member_count<GmmuConfig>()) << "kGmmu";
  EXPECT_EQ(std::size(kLinkDirection), member_count<LinkDirectionConfig>()) << "kLinkDirection";
  EXPECT_EQ(std::size(kLink) + 2, member_count<LinkConfig>()) << "kLink; its two directions are groups";
  EXPECT_EQ(std::size(kUplink), member_count<UplinkConfig>()) << "kUplink";
  EXPECT_EQ(std::size(kPeerLink) + 1, member_count<PeerLinkConfig>()) << "kPeerLink; each_way is a group";
  EXPECT_EQ(std::size(kPeerSwitch) + 1, member_count<PeerSwitchConfig>()) << "kPeerSwitch; port is a group";
  EXPECT_EQ(std::size(kPeerRates), member_count<PeerRates>()) << "kPeerRates";
  EXPECT_EQ(std::size(kHost), member_count<HostConfig>()) << "kHost";
  EXPECT_EQ(std::size(kSsd), member_count<SsdConfig>()) << "kSsd";
  EXPECT_EQ(std::size(kDriver), member_count<DriverConfig>()) << "kDriver";
  EXPECT_EQ(std::size(kCosts), member_count<DriverCosts>()) << "kCosts";
  EXPECT_EQ(std::size(kRuntime), member_count<RuntimeCosts>()) << "kRuntime";
  // name, description, sources, five lists and six groups; a new group also belongs into parameters().
  EXPECT_EQ(member_count<SystemConfig>(), 14u);
}

TEST(Schema, EveryLineIsUsable) {
  SystemConfig config = one_gpu();
  std::set<std::string> keys;
  for (const Parameter& parameter : parameters(config)) {
    EXPECT_TRUE(keys.insert(parameter.key).second) << parameter.key << " is there twice";
    EXPECT_FALSE(parameter.doc.empty()) << parameter.key;
    EXPECT_LE(parameter.minimum, parameter.maximum) << parameter.key;
    if (std::holds_alternative<std::uint32_t*>(parameter.target)) {
      EXPECT_LE(parameter.maximum, 0xffffffffu) << parameter.key << " has 32 bits";
    }
    const bool in_list = parameter.key.starts_with("gpus.") || parameter.key.starts_with("host_links.");
    const bool no_default = in_list || parameter.key == "host.pageable_copy_bytes_per_us";
    EXPECT_TRUE(no_default || !parameter.is_unset()) << parameter.key << ": its default is out of range";
    store(parameter, value_of(parameter));
  }
}

TEST(Schema, EveryGroupIsDescribed) {
  SystemConfig config = one_gpu();
  std::set<std::string> described;
  for (const Group& group : groups()) described.emplace(group.key);
  for (const Parameter& parameter : parameters(config)) {
    const std::string key = without_indices(parameter.key);
    EXPECT_TRUE(described.contains(key.substr(0, key.rfind('.')))) << key;
  }
}

TEST(Schema, ReplayPoliciesKeepTheirWords) {
  SystemConfig config;
  for (const ReplayPolicy policy : {ReplayPolicy::kBatch, ReplayPolicy::kBatchFlush}) {
    config.driver.fault_replay_policy = policy;
    for (const Parameter& parameter : parameters(config)) {
      if (parameter.key == "driver.fault_replay_policy") {
        const ParameterValue word = value_of(parameter);
        config.driver.fault_replay_policy = ReplayPolicy::kBatch;
        store(parameter, word);
      }
    }
    EXPECT_EQ(config.driver.fault_replay_policy, policy);
  }
}

TEST(Schema, Keys) {
  EXPECT_EQ(json_pointer("host_links.0.host_to_device.run_ns"), "/host_links/0/host_to_device/run_ns");
  EXPECT_EQ(without_indices("host_links.0.host_to_device.run_ns"), "host_links.host_to_device.run_ns");
  EXPECT_EQ(without_indices("gmmu"), "gmmu");
}

TEST(DidYouMean, FindsTheSmallestEdit) {
  const std::vector<std::string> names{"batch_ns", "block_ns", "replay_ns"};
  EXPECT_EQ(did_you_mean("bacth_ns", names), " (did you mean 'batch_ns'?)");
  EXPECT_EQ(did_you_mean("blok_ns", names), " (did you mean 'block_ns'?)");
  EXPECT_EQ(did_you_mean("replay", names), " (did you mean 'replay_ns'?)");
  EXPECT_EQ(nearest_name("h200", {"h100-sxm", "h200-sxm-pcie5"}), "h200-sxm-pcie5");
  EXPECT_EQ(nearest_name("abd", {"abc1", "abcd"}), "abcd") << "the first of equals, unless another begins as it does";
  EXPECT_EQ(did_you_mean("", names), "");
  EXPECT_EQ(did_you_mean("mood", names), "");
  EXPECT_EQ(did_you_mean(std::string(100000, 'x'), names), "") << "not in quadratic time";
  EXPECT_EQ(nearest_name("x", {}), "");
  EXPECT_EQ(allowed_hint("blok_ns", names), " (did you mean 'block_ns'?); allowed: batch_ns, block_ns, replay_ns");
}

TEST(Printable, KeepsWholeCharacters) {
  EXPECT_EQ(printable("a\nb\x7f"), "a?b?");
  EXPECT_EQ(printable("Größe"), "Größe");
  EXPECT_EQ(printable("Gr\xf6\xdf"
                      "e"),
            "Gr??e")
      << "not UTF-8";
  const std::string umlauts = [] {
    std::string text = "x";
    for (int i = 0; i < 100; ++i) text += "ö";
    return text;
  }();
  EXPECT_EQ(printable(umlauts), umlauts.substr(0, 79) + "...");
}

}  // namespace
}  // namespace uvmsim::config
