// SPDX-License-Identifier: Apache-2.0
// The command `uvmsim policies`.
#include "sim/cli/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/policy/registry.h"
#include "tests/policy/message_of.h"

namespace uvmsim::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

int run_policies(const std::vector<std::string>& arguments) {
  return run(policies_command(), "uvmsim policies", arguments);
}

std::string output_of(const std::vector<std::string>& arguments) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run_policies(arguments), 0);
  return ::testing::internal::GetCapturedStdout();
}

// Long lines of tables are wrapped.
std::string in_one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank || (!line.empty() && line.back() != ' ')) line += blank ? ' ' : c;
  }
  return line;
}

TEST(PoliciesCommand, ListsEveryPolicy) {
  const std::string output = in_one_line(output_of({}));
  EXPECT_THAT(output, StartsWith("SLOT NAME"));
  for (const policy::PolicyEntry* entry : policy::built_ins()->list()) {
    EXPECT_THAT(output, HasSubstr(entry->info.name));
    EXPECT_THAT(output, HasSubstr(entry->info.description));
  }
}

TEST(PoliciesCommand, ShowsParametersAndSource) {
  const std::string output = output_of({"tree"});
  for (const char* expected : {"prefetch policy 'tree'", "uvm_perf_prefetch.c", "D0, faults and migrations",
                               "threshold", "integer", "51", "0 to 100", "min_faults"}) {
    EXPECT_THAT(output, HasSubstr(expected));
  }
  EXPECT_THAT(output_of({"lrm"}), HasSubstr("no parameters"));
}

TEST(PoliciesCommand, PrintsJson) {
  const auto all = nlohmann::json::parse(output_of({"--json"}));
  EXPECT_EQ(all.at("schema_version"), 1);
  EXPECT_EQ(all.at("policies").size(), policy::built_ins()->list().size());
  const auto one = nlohmann::json::parse(output_of({"--json", "tree"})).at("policies");
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].at("slot"), "prefetch");
  EXPECT_EQ(one[0].at("information_class"), "D0");
  EXPECT_EQ(one[0].at("decision_cost_ns"), 0);
  const auto& threshold = one[0].at("parameters")[0];
  EXPECT_EQ(threshold.at("default"), 51);
  EXPECT_EQ(threshold.at("maximum"), 100);
  EXPECT_EQ(threshold.at("type"), "integer");
}

TEST(PoliciesCommand, ShowsPlugins) {
  const std::string path = UVMSIM_TEST_PLUGINS "/first_in.so";
  EXPECT_THAT(output_of({"--plugin", path, "first_in"}), HasSubstr("origin         " + path));
  EXPECT_THAT(output_of({"--plugin", path}), HasSubstr("[" + path + "]"));
}

TEST(PoliciesCommand, Teaches) { EXPECT_THAT(output_of({"--help"}), HasSubstr("uvmsim policies [NAME]")); }

TEST(PoliciesCommand, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(message_of([] { run_policies({"tre"}); }),
              HasSubstr("unknown policy 'tre' (did you mean 'tree'?); allowed: "));
  EXPECT_THAT(message_of([] { run_policies({"--jason"}); }), HasSubstr("--jason (did you mean '--json'?)"));
  EXPECT_THAT(message_of([] { run_policies({"tree", "lru"}); }), HasSubstr("lru"));
  EXPECT_THAT(message_of([] { run_policies({"--plugin", "absent.so"}); }), HasSubstr("no such file"));
}

}  // namespace
}  // namespace uvmsim::cli
