// SPDX-License-Identifier: Apache-2.0
#include "sim/config/schema.h"

#include <gtest/gtest.h>

#include <set>

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

struct AnyMember {
  template <class T>
  operator T() const;  // never called: only the conversion has to exist
};
template <class Struct, class... Members>
consteval std::size_t member_count() {
  if constexpr (requires { Struct{Members{}..., AnyMember{}}; }) {
    return member_count<Struct, Members..., AnyMember>();
  } else {
    return sizeof...(Members);
  }
}

// A new list or group of SystemConfig must also be added to for_each_list() or parameters().
TEST(Schema, EveryGroupIsListed) {
  // name, description, sources, five lists and eight groups
  EXPECT_EQ(member_count<SystemConfig>(), 16u);
  std::size_t lists = 0;
  SystemConfig config = one_gpu();
  for_each_list(config, [&](const char*, const auto&) { ++lists; });
  EXPECT_EQ(lists, 5u);
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
