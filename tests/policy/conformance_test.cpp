// SPDX-License-Identifier: Apache-2.0
// check-policy: every built-in passes, and each violated rule is found and named.
#include "sim/conformance/conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>

#include "sim/cli/commands.h"
#include "sim/conformance/isolated.h"
#include "sim/policy/plugin.h"
#include "tests/policy/message_of.h"

namespace uvmsim::conformance {
namespace {

using policy::PolicyEntry;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string plugin(const std::string& name) { return UVMSIM_TEST_PLUGINS "/" + name + ".so"; }

class BuiltIn : public ::testing::TestWithParam<const PolicyEntry*> {};
INSTANTIATE_TEST_SUITE_P(Every, BuiltIn, ::testing::ValuesIn(policy::built_ins()->list()), [](const auto& info) {
  return std::string(slot_name(info.param->slot)) + "_" + info.param->info.name;
});

TEST_P(BuiltIn, Passes) {
  // Runs fewer programs than `uvmsim check-policy` does, because properties_test.cpp runs random ones with every policy
  // as well.
  for (const Verdict& verdict : check_policy(*GetParam(), {.programs = 9})) {
    EXPECT_TRUE(verdict.passed) << verdict.check << ": " << verdict.text;
  }
}

// Returns the verdicts on one plug-in by check, each "ok" or its text.
std::map<std::string, std::string> verdicts_on(const std::string& name, TimeLimits limits = {}) {
  const auto registry = std::make_shared<policy::Registry>(*policy::built_ins());
  policy::Registry staged;
  policy::load_plugin(staged, plugin(name));
  PolicyEntry entry = *staged.list().front();
  entry.info.name = name;  // all plug-ins declare the same name
  registry->add(entry);
  std::map<std::string, std::string> texts;
  for (const Verdict& verdict :
       check_policy(registry->find(entry.slot, name), {.registry = registry, .limits = limits})) {
    texts[verdict.check] = verdict.passed ? "ok" : verdict.text;
  }
  return texts;
}

TEST(Nonsense, AVictimThatDoesNotExist) {
  auto texts = verdicts_on("nonsense_out_of_range");
  EXPECT_THAT(texts["tiny GPUs"], AllOf(HasSubstr("select_victim on a GPU with 1 x 2 MB, 1 of them evictable"),
                                        HasSubstr("chunk 1000000 does not exist")));
  EXPECT_THAT(texts["parameters"], HasSubstr("with the given parameters: select_victim"));
  EXPECT_THAT(texts["programs"], AllOf(HasSubstr("program 0 on a GPU with 2 x 2 MB"), HasSubstr("1000000")));
}
TEST(Nonsense, APinnedVictim) {
  EXPECT_THAT(verdicts_on("nonsense_pinned")["tiny GPUs"], HasSubstr("is pinned by the operation in progress"));
}
TEST(Nonsense, NoVictim) {
  auto texts = verdicts_on("nonsense_nobody");
  EXPECT_THAT(texts["tiny GPUs"], HasSubstr("no victim"));
  EXPECT_THAT(texts["programs"],
              AllOf(HasSubstr("evict policy 'nonsense_nobody'"), HasSubstr("returned no victim for block")));
}
TEST(Nonsense, StateThatOutlivesTheInstance) {
  auto texts = verdicts_on("nonsense_another_each_time");
  EXPECT_EQ(texts["tiny GPUs"], "ok");
  EXPECT_THAT(texts["determinism"], HasSubstr("was another one when the same history ran again"));
  EXPECT_THAT(texts["programs"], HasSubstr("another result when it ran again"));
}
TEST(Nonsense, AnswersThatFollowFromAnAddress) {
  EXPECT_THAT(verdicts_on("nonsense_by_address")["addresses"],
              HasSubstr("another result in a process with other addresses"));
}
TEST(Nonsense, AnException) { EXPECT_THAT(verdicts_on("nonsense_throws")["tiny GPUs"], HasSubstr("no such thing")); }
TEST(Nonsense, ACrash) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer ends the program in its own way";
#endif
  EXPECT_THAT(verdicts_on("nonsense_crashes")["tiny GPUs"],
              AllOf(HasSubstr("evict policy 'nonsense_crashes' ("), HasSubstr("): select_victim() for block"),
                    HasSubstr("crashed: signal 11 (Segmentation fault)")));
}
TEST(Nonsense, AnEndlessLoop) {
  // The first check names the function that does not return; the other checks do not wait as long again.
  for (const auto& [check, text] : verdicts_on("nonsense_endless", {.cpu_seconds = 1})) {
    if (check != "parameters") {
      EXPECT_EQ(text, "not run: the policy does not return") << check;
      continue;
    }
    EXPECT_THAT(text, AllOf(HasSubstr("evict policy 'nonsense_endless' ("), HasSubstr("): select_victim() for block"),
                            HasSubstr(" does not return: stopped after 1 s of processor time")));
  }
}
TEST(Nonsense, AnExit) {
  EXPECT_THAT(verdicts_on("nonsense_exits")["tiny GPUs"],
              AllOf(HasSubstr("select_victim() for block"), HasSubstr("ended the program")));
}
TEST(Nonsense, AnEarlyVictimThatIsGone) {
  EXPECT_THAT(verdicts_on("nonsense_too_early")["tiny GPUs"],
              AllOf(HasSubstr("select_early_victim"), HasSubstr("chunk 0 is free already")));
}
TEST(Nonsense, AParameterAtItsEnd) {
  auto texts = verdicts_on("nonsense_bad_edge");
  EXPECT_THAT(texts["parameters"],
              AllOf(HasSubstr("with depth=0: "), HasSubstr("constructor() threw: depth 0 was not thought of")));
  EXPECT_EQ(texts["tiny GPUs"], "ok");
  EXPECT_EQ(texts["determinism"], "ok");
}
TEST(Nonsense, APrefetcherWithAMemory) {
  auto texts = verdicts_on("nonsense_prefetcher");
  EXPECT_THAT(texts["determinism"], HasSubstr("call 1 had another answer"));
  EXPECT_EQ(texts["random blocks"].substr(0, 2), "ok");
}

TEST(Nonsense, APrefetcherThatForgetsPartOfItsState) {
  auto texts = verdicts_on("forgets_state");
  EXPECT_THAT(texts["skipped iterations"], AllOf(HasSubstr("on a GPU with"), HasSubstr("add_state does not tell all")));
  EXPECT_THAT(texts["state"], AllOf(HasSubstr("end in the same state, but of what comes then prefetch() answers call"),
                                    HasSubstr("add_state does not tell all")));
  EXPECT_EQ(texts["programs"].substr(0, 2), "ok");
  EXPECT_EQ(texts["determinism"], "ok");
}

TEST(Nonsense, AnEvictorThatForgetsPartOfItsState) {
  auto texts = verdicts_on("forgets_hits");
  EXPECT_THAT(texts["state"], AllOf(HasSubstr("end in the same state, but of what comes then select_victim() answers"),
                                    HasSubstr("add_state does not tell all")));
  EXPECT_EQ(texts["tiny GPUs"].substr(0, 2), "ok");
}

TEST(Nonsense, APlannerThatNeverRests) {
  auto texts = verdicts_on("nonsense_planner");
  EXPECT_THAT(texts["tiny GPUs"], HasSubstr("1,000 commands without an end while nothing else happened"));
  EXPECT_EQ(texts["programs"].substr(0, 2), "ok");  // the simulator ends nevertheless
}

TEST(Nonsense, ARouteToNowhere) {
  auto texts = verdicts_on("nonsense_router");
  EXPECT_THAT(texts["random moves"],
              AllOf(HasSubstr("move 1 on a server of"), HasSubstr("through GPU 99, which does not exist")));
  EXPECT_THAT(texts["parameters"], HasSubstr("with the given parameters: move 1"));
  EXPECT_THAT(texts["programs"],
              AllOf(HasSubstr("route policy 'nonsense_router' ("), HasSubstr("nonsense_router.so) sends block")));
}
TEST(Nonsense, ARouterWithAMemory) {
  policy::Registry staged;
  policy::load_plugin(staged, plugin("nonsense_router"));
  PolicyEntry entry = *staged.list().front();
  entry.info.name = "router_with_a_memory";
  const auto registry = std::make_shared<policy::Registry>(*policy::built_ins());
  registry->add(entry);
  for (const Verdict& verdict : check_policy(entry, {.registry = registry, .given = {{"far", "false"}}})) {
    if (verdict.check == std::string("random moves")) {
      EXPECT_TRUE(verdict.passed) << verdict.text;
    }
    if (verdict.check == std::string("programs")) {
      EXPECT_THAT(verdict.text, HasSubstr("another result when it ran again"));
    }
    if (verdict.check == std::string("determinism")) {
      EXPECT_THAT(verdict.text, HasSubstr("took other routes when the same moves were repeated"));
    }
  }
}

TEST(Nonsense, TwoParametersThatDoNotGoTogether) {
  EXPECT_THAT(verdicts_on("bad_pair")["parameters"], HasSubstr("with small=99, threshold=1: "));
}

TEST(Isolated, StopsWhatWaitsAndDoesNotBlameItForAKill) {
  const auto sleeps = []() -> std::string {
    for (;;) sleep(1000);
  };
  EXPECT_EQ(run_isolated(sleeps, {.cpu_seconds = 5, .wall_seconds = 1}).text, "does not return: stopped after 1 s");
  const auto killed = []() -> std::string {
    raise(SIGKILL);
    return "";
  };
  EXPECT_THAT(run_isolated(killed, {.cpu_seconds = 5}).text, HasSubstr("killed from outside"));
}

TEST(Isolated, TellsHowItEnded) {
  constexpr TimeLimits kLimits = {.cpu_seconds = 5};
  EXPECT_EQ(run_isolated([] { return std::string("fine"); }, kLimits).text, "fine");
  EXPECT_TRUE(run_isolated([] { return std::string(100000, 'x'); }, kLimits).passed);
  const Outcome aborted = run_isolated(
      []() -> std::string {
        raise(SIGTERM);
        return "";
      },
      kLimits);
  EXPECT_FALSE(aborted.passed);
  EXPECT_THAT(aborted.text, HasSubstr("crashed: signal 15"));
  EXPECT_EQ(run_isolated([]() -> std::string { throw 1; }, kLimits).text, "threw something that is no std::exception");
}

struct Ran {
  int code = 0;
  std::string output;
};
int check_policy(const std::vector<std::string>& arguments) {
  return cli::run(cli::check_policy_command(), "uvmsim check-policy", arguments);
}
Ran run_command(const std::vector<std::string>& arguments) {
  ::testing::internal::CaptureStdout();
  const int code = check_policy(arguments);
  return {code, ::testing::internal::GetCapturedStdout()};
}

TEST(Command, ChecksABuiltIn) {
  const Ran ran = run_command({"tree:threshold=75", "--seed", "3"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.output, AllOf(HasSubstr("prefetch policy 'tree' (built-in)\n  ok  parameters"),
                                HasSubstr("ok  programs"), HasSubstr("\nnothing is wrong\n")));
}
TEST(Command, ChecksAFile) {
  const Ran ran = run_command({plugin("first_in")});
  EXPECT_EQ(ran.code, 1);  // the policy skips chunks at the end of its list
  EXPECT_THAT(ran.output,
              AllOf(HasSubstr("evict policy 'first_in' (" + plugin("first_in") + ")"), HasSubstr("WRONG  parameters"),
                    HasSubstr("with skip=3:"), HasSubstr("no victim"), HasSubstr("1 of 7 checks failed")));
}
TEST(Command, FindsAPluginByItsNameInTheSearchPath) {
  setenv("UVMSIM_PLUGIN_PATH", ("/nowhere:" UVMSIM_TEST_PLUGINS), 1);
  EXPECT_EQ(policy::find_plugin("next_unit"), plugin("next_unit"));
  EXPECT_EQ(policy::find_plugin("next_unit.so"), plugin("next_unit"));
  EXPECT_EQ(run_command({"--plugin", "next_unit", "next_unit"}).code, 0);
  EXPECT_THAT(message_of([] { policy::find_plugin("absent"); }),
              AllOf(HasSubstr("plug-in absent: no such file"), HasSubstr("/nowhere, " UVMSIM_TEST_PLUGINS),
                    HasSubstr("uvmsim/plugins"), HasSubstr("UVMSIM_PLUGIN_PATH")));
  unsetenv("UVMSIM_PLUGIN_PATH");
  EXPECT_THAT(message_of([] { policy::find_plugin("next_unit"); }), HasSubstr("no such file"));
  EXPECT_EQ(policy::find_plugin("./anything.so"), "./anything.so");  // load_plugin reports that the file does not exist
}
TEST(Command, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(message_of([] { check_policy({}); }), HasSubstr("no policy given"));
  EXPECT_THAT(message_of([] { check_policy({"nobody"}); }), HasSubstr("unknown policy 'nobody'"));
  EXPECT_THAT(message_of([] { check_policy({"tree:depth=1"}); }), HasSubstr("unknown parameter 'depth'"));
  EXPECT_THAT(message_of([] { check_policy({plugin("no_symbol")}); }), HasSubstr("has no symbol uvmsim_policy_plugin"));
  EXPECT_THAT(message_of([] { check_policy({plugin("other_version")}); }), HasSubstr("plug-in ABI version"));
  EXPECT_THAT(message_of([] { check_policy({plugin("second_tree")}); }), HasSubstr("already registered"));
  EXPECT_THAT(message_of([] { check_policy({"tree", "--cpu-seconds", "0"}); }), HasSubstr("allowed: 1 to 3600"));
}

}  // namespace
}  // namespace uvmsim::conformance
