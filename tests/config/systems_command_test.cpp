// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "sim/config/load_system.h"
#include "sim/config/system_text.h"
#include "tests/config/system_files.h"

namespace uvmsim::cli {
namespace {

using config::input_error_of;
using config::TemporaryFolder;
using nlohmann::ordered_json;
using testing::HasSubstr;
using testing::StartsWith;

struct Output {
  int code = 0;
  std::string text;
};

Output run(const std::vector<std::string>& arguments) {
  testing::internal::CaptureStdout();
  Output output;
  try {
    output.code = cli::run(systems_command(), "uvmsim systems", arguments);
  } catch (...) {
    testing::internal::GetCapturedStdout();
    throw;
  }
  std::fflush(stdout);
  output.text = testing::internal::GetCapturedStdout();
  return output;
}

TEST(SystemsCommand, ListsAll) {
  const Output output = run({});
  EXPECT_EQ(output.code, 0);
  EXPECT_THAT(output.text, HasSubstr("h200-sxm-pcie5      one H200 SXM"));
  EXPECT_THAT(output.text, HasSubstr("titan-v-pcie3       one Titan V"));
  const ordered_json listed = ordered_json::parse(run({"--json"}).text);
  EXPECT_EQ(listed.at("systems").size(), 30u);
  EXPECT_EQ(listed.at("systems").at(0).at("name"), "a10-pcie4");
}

TEST(SystemsCommand, ABrokenFileDoesNotHideTheOthers) {
  const TemporaryFolder folder;
  folder.write("broken.json", "{");
  folder.write("own.json", R"({"description": "my own", "extends": "h200-sxm-pcie5"})");
  ASSERT_EQ(setenv("UVMSIM_CONFIG_PATH", folder.path().c_str(), 1), 0);
  const Output output = run({});
  const std::string as_json = run({"--json"}).text;
  unsetenv("UVMSIM_CONFIG_PATH");
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.text, HasSubstr("broken              cannot be loaded: " + folder.path()));
  EXPECT_THAT(output.text, HasSubstr("own                 my own. Driver costs: "));
  const ordered_json listed = ordered_json::parse(as_json);
  const ordered_json& all = listed.at("systems");
  const auto broken = std::ranges::find_if(all, [](const ordered_json& one) { return one.at("name") == "broken"; });
  ASSERT_NE(broken, all.end());
  EXPECT_TRUE(broken->contains("problem"));
}

TEST(SystemsCommand, ShowsOne) {
  EXPECT_THAT(run({"v100-pcie-16g"}).text, HasSubstr("15.78 GiB"));
  const config::SystemConfig system = config::load_system("v100-pcie-16g");
  EXPECT_EQ(run({"v100-pcie-16g", "--json"}).text, config::resolved_json(system));
  const std::string file = UVMSIM_SOURCE_DIR "/configs/systems/v100-pcie-16g.json";
  EXPECT_EQ(run({file, "--json"}).text, config::resolved_json(system));
}

TEST(SystemsCommand, Set) {
  const Output output = run({"h200-sxm-pcie5", "--set", "costs.batch_ns=7 us", "--set", "gpus.0.sm_count=1", "--json"});
  const ordered_json system = ordered_json::parse(output.text);
  EXPECT_EQ(system.at("costs").at("batch_ns").at("value"), 7000);
  EXPECT_EQ(system.at("gpus").at(0).at("sm_count").at("source"), "--set gpus.0.sm_count=1");
  EXPECT_THAT(input_error_of([] {
                run({"h200-sxm-pcie5", "--set", "costs.bacth_ns=1"});
              }),
              HasSubstr("did you mean 'costs.batch_ns'?"));
  EXPECT_THAT(input_error_of([] { run({"--set", "costs.batch_ns=1"}); }), StartsWith("--set needs a system"));
}

TEST(SystemsCommand, HelpAndSchema) {
  EXPECT_THAT(run({"--help"}).text, StartsWith("usage: uvmsim systems [NAME|FILE]"));
  EXPECT_EQ(run({"--schema"}).text, config::system_file_schema());
}

TEST(SystemsCommand, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(input_error_of([] { run({"h201"}); }), StartsWith("unknown system 'h201'"));
  EXPECT_THAT(input_error_of([] { run({"--jsn"}); }), HasSubstr("--jsn"));
  EXPECT_THAT(input_error_of([] { run({"h200-sxm-pcie5", "h100-sxm"}); }), HasSubstr("h100-sxm"));
}

}  // namespace
}  // namespace uvmsim::cli
