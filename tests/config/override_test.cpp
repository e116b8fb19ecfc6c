// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config/load_system.h"
#include "sim/config/system_text.h"
#include "tests/config/system_files.h"

namespace uvmsim::config {
namespace {

using testing::StartsWith;

SystemConfig h200() { return load_system("h200-sxm-pcie5", {UVMSIM_SOURCE_DIR "/configs/systems"}); }

TEST(Override, ChangesOneParameterAndItsSource) {
  SystemConfig config = h200();
  apply_override(config, "costs.batch_ns=7000");
  EXPECT_EQ(config.costs.batch_ns, 7000u);
  EXPECT_EQ(config.sources.at("costs.batch_ns"), "--set costs.batch_ns=7000");
  apply_override(config, "host_links.0.host_to_device.bytes_per_us=26 GB/s");
  EXPECT_EQ(config.host_links[0].host_to_device.bytes_per_us, 26000u);
  apply_override(config, "gpus.0.memory_bytes=80GiB");
  EXPECT_EQ(config.gpus[0].memory_bytes, std::uint64_t{80} << 30);
  apply_override(config, "driver.fault_replay_policy=batch");
  EXPECT_EQ(config.driver.fault_replay_policy, ReplayPolicy::kBatch);
  apply_override(config, "driver.thrashing_enable=false");
  EXPECT_FALSE(config.driver.thrashing_enable);
  apply_override(config, "gpus.0.model=7");  // a text may be digits
  EXPECT_EQ(config.gpus[0].model, "7");
  apply_override(config, "gpus.0.model=a=b");
  EXPECT_EQ(config.gpus[0].model, "a=b");
}

TEST(Override, IsKeptByTheResolvedSystem) {
  const TemporaryFolder folder;
  SystemConfig config = h200();
  apply_overrides(config, {"costs.batch_ns=7 us"});
  const SystemConfig again = load_system(folder.write("again.json", resolved_json(config)), {});
  EXPECT_EQ(again.costs.batch_ns, 7000u);
  EXPECT_EQ(again.sources.at("costs.batch_ns"), "--set costs.batch_ns=7 us");
}

TEST(Override, HasTheChecksOfTheLoader) {
  SystemConfig config = h200();
  const std::string before = resolved_json(config);
  const auto error = [&](const std::string& assignment) {
    return input_error_of([&] { apply_override(config, assignment); });
  };
  EXPECT_EQ(error("costs.bacth_ns=1"),
            "--set costs.bacth_ns=1: unknown key 'costs.bacth_ns' (did you mean 'costs.batch_ns'?); `uvmsim systems "
            "h200-sxm-pcie5` lists them");
  EXPECT_EQ(error("zzzz=3"), "--set zzzz=3: unknown key 'zzzz'; `uvmsim systems h200-sxm-pcie5` lists them")
      << "nothing unrelated";
  EXPECT_EQ(error("gpus.1.sm_count=1"),
            "--set gpus.1.sm_count=1: unknown key 'gpus.1.sm_count' (did you mean 'gpus.0.sm_count'?); `uvmsim "
            "systems h200-sxm-pcie5` lists them");
  EXPECT_EQ(
      error("costs.batch_ns=-1"),
      "--set costs.batch_ns=-1: -1 is negative; allowed: 0 to 10000000000 ns, as an integer or as text in ns, us, "
      "ms, s");
  EXPECT_EQ(error("costs.batch_ns=20 s"),
            "--set costs.batch_ns=20 s: \"20 s\" is out of range; allowed: 0 to 10000000000 ns");
  EXPECT_THAT(error("costs.batch_ns=6 MB"), StartsWith("--set costs.batch_ns=6 MB: '6 MB' has the unit 'MB'"));
  EXPECT_THAT(error("costs.batch_ns="), StartsWith("--set costs.batch_ns=: '' is not a number"));
  EXPECT_THAT(error("costs.batch_ns=true"), StartsWith("--set costs.batch_ns=true: true is true or false"));
  EXPECT_THAT(error("costs.batch_ns=99999999999999999999"), testing::HasSubstr("fraction or exponent"));
  EXPECT_EQ(error("driver.thrashing_enable=1"),
            "--set driver.thrashing_enable=1: 1 is an integer; allowed: true or false");
  EXPECT_EQ(error("costs.batch_ns"),
            "--set costs.batch_ns: is not an assignment; allowed: key=value, as costs.batch_ns=7000");
  EXPECT_THAT(error("=1"), StartsWith("--set =1: is not an assignment"));
  EXPECT_EQ(resolved_json(config), before) << "a refused assignment changes nothing";
}

TEST(Override, AFactorMultipliesWhatIsThere) {
  SystemConfig config = h200();
  const std::uint64_t batch = config.costs.batch_ns, push = config.costs.push_ns;
  apply_override(config, "costs.batch_ns=x2");
  EXPECT_EQ(config.costs.batch_ns, 2 * batch);
  apply_override(config, "costs.*=x0.5");
  EXPECT_EQ(config.costs.batch_ns, batch);
  EXPECT_EQ(config.costs.push_ns, (push + 1) / 2) << "rounded";
  EXPECT_EQ(config.sources.at("costs.push_ns"), "--set costs.*=x0.5");
  EXPECT_EQ(at_host_speed(config).costs.batch_ns, config.costs.batch_ns);
  apply_override(config, "host_links.*bytes_per_us=x1.5");
  EXPECT_EQ(config.host_links[0].host_to_device.bytes_per_us, h200().host_links[0].host_to_device.bytes_per_us * 3 / 2);
  EXPECT_EQ(config.host_links[0].host_to_device.latency_ns, h200().host_links[0].host_to_device.latency_ns);
  apply_override(config, "gpus.0.model=x2");  // a text
  EXPECT_EQ(config.gpus[0].model, "x2");

  const std::string before = resolved_json(config);
  const auto error = [&](const std::string& assignment) {
    return input_error_of([&] { apply_override(config, assignment); });
  };
  EXPECT_THAT(error("costs.*=x0"), testing::HasSubstr("'x0' is no factor; allowed: x and a number above 0"));
  EXPECT_THAT(error("costs.batch_ns=x-1"), testing::HasSubstr("is no factor"));
  EXPECT_THAT(error("cost.*=x2"), StartsWith("--set cost.*=x2: no key matches 'cost.*'"));
  EXPECT_THAT(error("driver.fault_coalesce=x2"),
              testing::HasSubstr("is true or false, and a factor multiplies numbers"));
  EXPECT_THAT(error("gpus.0.sm_count=x1000"), testing::HasSubstr("out of range"));
  EXPECT_EQ(resolved_json(config), before) << "all that match, or none";
}

TEST(Override, ChecksBetweenParametersComeAfterTheLast) {
  SystemConfig config = h200();
  apply_overrides(config, {"gmmu.l1_tlb_entries=24", "gmmu.l1_tlb_ways=12"});
  EXPECT_EQ(config.gmmu.l1_tlb_entries, 24u);
  EXPECT_EQ(input_error_of([&] {
              apply_overrides(config, {"gmmu.l1_tlb_ways=7", "costs.batch_ns=1"});
            }),
            "--set gmmu.l1_tlb_ways=7 --set costs.batch_ns=1: /gmmu/l1_tlb_ways: 7 ways do not divide 24 entries; "
            "allowed: a divisor of l1_tlb_entries");
}

}  // namespace
}  // namespace uvmsim::config
