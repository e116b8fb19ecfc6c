// SPDX-License-Identifier: Apache-2.0
// Tests of wrong systems and settings: each error is one line with the file, the key and what is allowed.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/cli/small_traces.h"

namespace uvmsim {
namespace {

class BadSystem : public CommandTest {
 protected:
  nlohmann::json system() {
    std::ifstream file(std::string(UVMSIM_SOURCE_DIR) + "/configs/systems/h200-sxm-pcie5.json");
    return nlohmann::json::parse(file);
  }
  void expect_error(const std::string& text, const std::vector<std::string>& words) {
    folder.write("my.json", text);
    folder.write("trace.jsonl", two_iterations(4));
    std::vector<std::string> all{"my.json"};
    all.insert(all.end(), words.begin(), words.end());
    expect_one_line_error(run({"run", "trace.jsonl", "--system", "my.json"}), all);
  }
  void expect_setting_error(const std::string& setting, const std::vector<std::string>& words) {
    SCOPED_TRACE(setting);
    expect_one_line_error(run_trace(two_iterations(4), {"--set", setting}), words);
  }
};

TEST_F(BadSystem, UnknownName) {
  folder.write("trace.jsonl", two_iterations(4));
  expect_one_line_error(run({"run", "trace.jsonl", "--system", "h200-sxm-pcie6"}),
                        {"h200-sxm-pcie6", "h200-sxm-pcie5"});
  expect_one_line_error(run({"run", "trace.jsonl", "--system", "gone.json"}), {"gone.json"});
}

TEST_F(BadSystem, NotJson) {
  expect_error("", {});
  expect_error("{", {});
  expect_error("[]", {});
}

TEST_F(BadSystem, ACopyOfAShippedSystemIsFine) {
  folder.write("my.json", system().dump());
  folder.write("trace.jsonl", two_iterations(4));
  const auto result = run({"run", "trace.jsonl", "--system", "my.json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(BadSystem, UnknownKey) {
  auto json = system();
  json["typo_key"] = 1;
  expect_error(json.dump(), {"typo_key"});
  json = system();
  json["costs"]["bacth_ns"] = json["costs"]["batch_ns"];
  expect_error(json.dump(), {"bacth_ns", "batch_ns"});
}

TEST_F(BadSystem, WrongTypeOrUnit) {
  auto json = system();
  json["costs"]["batch_ns"] = "6 MB";
  expect_error(json.dump(), {"batch_ns", "6 MB", "ns"});
  json["costs"]["batch_ns"] = true;
  expect_error(json.dump(), {"batch_ns"});
  json["costs"]["batch_ns"] = -5;
  expect_error(json.dump(), {"batch_ns", "-5"});
  json["costs"]["batch_ns"] = 1.5;
  expect_error(json.dump(), {"batch_ns"});
}

TEST_F(BadSystem, Settings) {
  expect_setting_error("nonsense", {"--set", "nonsense", "key=value"});
  expect_setting_error("costs.bacth_ns=1", {"--set", "costs.bacth_ns", "costs.batch_ns"});
  expect_setting_error("costs.batch_ns=6 MB", {"--set", "6 MB", "ns"});
  expect_setting_error("costs.batch_ns=-1", {"--set", "-1", "allowed"});
  expect_setting_error("costs.batch_ns=", {"--set", "allowed"});
  expect_setting_error("driver.thrashing_enable=maybe", {"--set", "maybe", "true or false"});
  expect_setting_error("driver.fault_batch_count=0", {"--set", "allowed"});
  expect_setting_error("driver.fault_batch_count=99999999999999999999", {"--set"});
  expect_setting_error("driver.fault_replay_policy=sometimes", {"--set", "sometimes", "batch_flush"});
  expect_setting_error("gpus.1.sm_count=4", {"--set", "gpus.1.sm_count"});
}

}  // namespace
}  // namespace uvmsim
