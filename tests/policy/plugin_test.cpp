// SPDX-License-Identifier: Apache-2.0
// Plug-ins: one that works, the shipped example, and every reason to refuse one.
#include "sim/policy/plugin.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/policy/chunks.h"
#include "tests/policy/faults.h"
#include "tests/policy/message_of.h"

namespace uvmsim::policy {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string plugin(const std::string& name) { return UVMSIM_TEST_PLUGINS "/" + name + ".so"; }

class PluginTest : public ::testing::Test {
 protected:
  std::string refusal(const std::string& path) {
    const std::size_t before = registry_.list().size();
    const std::string message = message_of([&] { load_plugin(registry_, path); });
    EXPECT_EQ(registry_.list().size(), before);
    EXPECT_THAT(message, HasSubstr(path));
    return message;
  }
  Registry registry_ = *built_ins();
};

TEST_F(PluginTest, AddsItsPolicy) {
  load_plugin(registry_, plugin("first_in"));
  const PolicyEntry& entry = registry_.find(Slot::kEvict, "first_in");
  EXPECT_EQ(entry.origin, plugin("first_in"));
  EXPECT_EQ(entry.parameters.at(0).name, "skip");
  const auto first_in = registry_.create<Evictor>("first_in", {{"skip", "1"}}, 1, 4);
  for (const std::uint32_t chunk : {2u, 1u, 3u, 2u}) first_in->on_migrated(ChunkId{chunk});
  EXPECT_EQ(first_in->select_victim(FakeChunks(4)), ChunkId{1});
  EXPECT_THROW(registry_.create<Evictor>("first_in", {{"skip", "4"}}, 1, 4), InputError);
}

TEST_F(PluginTest, TheShippedExampleWorks) {
  load_plugin(registry_, plugin("next_unit"));
  const auto forwards = registry_.create<Prefetcher>("next_unit", {}, 1, 4);
  BlockUnderTest block{*forwards};
  EXPECT_TRUE(block.service(mask_of({20})) == PageMask::range(16, 32));
  EXPECT_TRUE(block.service(mask_of({511})) == PageMask::range(496, 16));
  const auto backwards = registry_.create<Prefetcher>("next_unit", {{"backwards", "true"}}, 1, 4);
  BlockUnderTest other{*backwards};
  EXPECT_TRUE(other.service(mask_of({20})) == PageMask::range(0, 32));
  EXPECT_TRUE(other.service(mask_of({0})).empty());
}

TEST_F(PluginTest, RefusesATakenName) {
  EXPECT_THAT(refusal(plugin("second_tree")),
              AllOf(HasSubstr("prefetch policy 'tree'"), HasSubstr("already registered (built-in)")));
  load_plugin(registry_, plugin("first_in"));
  EXPECT_THAT(refusal(plugin("first_in")), HasSubstr("evict policy 'first_in'"));
}

TEST_F(PluginTest, RefusesAWrongDeclaration) {
  EXPECT_THAT(refusal(plugin("wrong_default")), HasSubstr("parameter 'depth': '9' is out of range; allowed: 0 to 3"));
}

TEST_F(PluginTest, RefusesAnotherAbiVersionNamingBoth) {
  const std::string expected = fmt::format("built for plug-in ABI version {}, this uvmsim has version {}",
                                           kPluginAbiVersion + 1, kPluginAbiVersion);
  EXPECT_THAT(refusal(plugin("other_version")), HasSubstr(expected));
  EXPECT_THAT(refusal(plugin("other_version_missing_function")), HasSubstr(expected));
}

TEST_F(PluginTest, RefusesAnotherCompilerAbiNamingBoth) {
  EXPECT_THAT(refusal(plugin("other_compiler")),
              HasSubstr(fmt::format("compiled for 'other C++', this uvmsim for '{}'", kCompilerAbi)));
}

TEST_F(PluginTest, NamesAFunctionThatThisProgramLacks) {
  EXPECT_THAT(refusal(plugin("missing_function")), AllOf(HasSubstr("cannot be loaded"), HasSubstr("of_the_future")));
}

TEST_F(PluginTest, RefusesWhatIsNoPlugin) {
  EXPECT_THAT(refusal(plugin("no_symbol")), HasSubstr("has no symbol uvmsim_policy_plugin"));
  EXPECT_THAT(refusal(plugin("absent")), HasSubstr("no such file"));
  EXPECT_THAT(refusal("absent.so"), HasSubstr("no such file"));
  EXPECT_THAT(refusal("."), HasSubstr("no such file"));
  const std::string text_file = UVMSIM_TEST_PLUGINS "/text.so";
  std::ofstream(text_file) << "not a library\n";
  EXPECT_THAT(refusal(text_file), HasSubstr("cannot be loaded"));
}

}  // namespace
}  // namespace uvmsim::policy
