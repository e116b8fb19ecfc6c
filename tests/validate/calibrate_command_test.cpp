// SPDX-License-Identifier: Apache-2.0
// `uvmsim calibrate` as a user runs it.
#include <nlohmann/json.hpp>

#include "sim/config/load_system.h"
#include "tests/cli/command.h"
#include "tests/validate/calibration_experiments.h"

namespace uvmsim {
namespace {

using ::testing::HasSubstr;

class CalibrateCommand : public CommandTest {
 protected:
  void make_experiments() {
    config::SystemConfig truth = config::load_system("h200-sxm-pcie5");
    truth.costs.batch_ns = 6000;
    folder.write("mine.jsonl", validate::simulated_experiments(truth));
  }
};

TEST_F(CalibrateCommand, WritesASystemThatStandsAloneAndFits) {
  make_experiments();
  const CommandResult result =
      run({"calibrate", "mine.jsonl", "--parameters", "costs.batch_ns", "--holdout", "5", "-o", "mine.json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("h200-sxm-pcie5 fitted to mine.jsonl (sha256 "));
  EXPECT_THAT(result.out, HasSubstr("kept back: 2"));
  const auto system = nlohmann::json::parse(folder.read("mine.json"));
  EXPECT_EQ(system["name"], "mine");
  EXPECT_NEAR(system["costs"]["batch_ns"]["value"].get<double>(), 6000, 400);
  EXPECT_THAT(system["costs"]["batch_ns"]["source"].get<std::string>(),
              HasSubstr("calibrated from mine.jsonl (sha256"));
  EXPECT_THAT(system["costs"]["replay_ns"]["source"].get<std::string>(), ::testing::Not(HasSubstr("calibrated")));
  EXPECT_EQ(config::load_system(folder.path("mine.json")).costs.batch_ns, system["costs"]["batch_ns"]["value"]);
  const CommandResult validation = run({"validate", "mine.jsonl", "--system", "mine.json"});
  EXPECT_EQ(validation.exit_code, 0) << validation.out;
}

TEST_F(CalibrateCommand, MistakesAreOneLineAndLeaveNothing) {
  make_experiments();
  expect_one_line_error(run({"calibrate"}), {"no file of experiments given"});
  expect_one_line_error(run({"calibrate", "missing.jsonl", "-o", "x.json"}), {"missing.jsonl"});
  expect_one_line_error(run({"calibrate", "mine.jsonl", "--parameters", "costs.bacth_ns", "-o", "x.json"}),
                        {"'costs.bacth_ns' cannot be fitted", "costs.batch_ns"});
  expect_one_line_error(run({"calibrate", "mine.jsonl", "--parameters", ""}), {"--parameters"});
  expect_one_line_error(run({"calibrate", "mine.jsonl", "--holdout", "1"}), {"--holdout", "allowed: 2 to"});
  expect_one_line_error(run({"calibrate", "mine.jsonl", "--rounds", "99"}), {"--rounds", "allowed: 1 to 20"});
  expect_one_line_error(run({"calibrate", "mine.jsonl", "-o", "x.txt"}), {"does not end in .json"});
  expect_one_line_error(run({"calibrate", "mine.jsonl", "-o", "nowhere/x.json"}), {"nowhere"});
  expect_one_line_error(run({"calibrate", "mine.jsonl", "--system", "nosuch"}), {"nosuch"});
  expect_one_line_error(run({"calibrate", "-"}), {"standard input"});
  folder.write("bad.jsonl", "{\"name\":\"x\"}\n");
  expect_one_line_error(run({"calibrate", "bad.jsonl", "-o", "x.json"}), {"bad.jsonl", "line 1"});
  EXPECT_THAT(folder.names(), ::testing::UnorderedElementsAre("mine.jsonl", "bad.jsonl"));
}

}  // namespace
}  // namespace uvmsim
