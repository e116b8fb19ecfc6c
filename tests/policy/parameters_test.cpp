// SPDX-License-Identifier: Apache-2.0
#include "sim/policy/parameters.h"

#include <gtest/gtest.h>

#include "sim/common/check.h"
#include "tests/policy/message_of.h"

namespace uvmsim::policy {
namespace {

ParameterTable table() {
  return {integer("threshold", 51, {1, 100}, "percent"), real("small", 0.25, {0, 1}, "share of the queue"),
          boolean("cascade", false, "feed filled nodes to their parents"),
          choice("unit", "4k", {"4k", "64k", "2m"}, "what a fault brings")};
}
Parameters with(const GivenParameters& given) { return Parameters("prefetch policy 'tree'", table(), given); }
std::string refusal(const GivenParameters& given) {
  return message_of([&] { with(given); });
}

TEST(Parameters, DefaultsHoldWhereNothingIsGiven) {
  const Parameters parameters = with({});
  EXPECT_EQ(parameters.integer("threshold"), 51);
  EXPECT_EQ(parameters.real("small"), 0.25);
  EXPECT_FALSE(parameters.boolean("cascade"));
  EXPECT_EQ(parameters.choice("unit"), "4k");
}

TEST(Parameters, GivenValuesReplaceThem) {
  const Parameters parameters = with({{"unit", "2m"}, {"cascade", "true"}, {"threshold", "100"}, {"small", "1e-1"}});
  EXPECT_EQ(parameters.integer("threshold"), 100);
  EXPECT_EQ(parameters.real("small"), 0.1);
  EXPECT_TRUE(parameters.boolean("cascade"));
  EXPECT_EQ(parameters.choice("unit"), "2m");
  const GivenParameters resolved{{"threshold", "100"}, {"small", "0.1"}, {"cascade", "true"}, {"unit", "2m"}};
  EXPECT_EQ(parameters.resolved(), resolved);
}

TEST(Parameters, RefusesUnknownNamesWithTheNearestOne) {
  EXPECT_EQ(refusal({{"treshold", "1"}}),
            "prefetch policy 'tree': unknown parameter 'treshold' (did you mean 'threshold'?); allowed: threshold, "
            "small, cascade, unit");
  EXPECT_EQ(refusal({{"zzzzzzzz", "1"}}),
            "prefetch policy 'tree': unknown parameter 'zzzzzzzz'; allowed: threshold, small, cascade, unit");
  EXPECT_EQ(message_of([] {
              Parameters("evict policy 'lrm'", {}, {{"x", "1"}});
            }),
            "evict policy 'lrm': unknown parameter 'x'; it has no parameters");
  EXPECT_EQ(refusal({{"unit", "4k"}, {"unit", "4k"}}),
            "prefetch policy 'tree': parameter 'unit' is given twice; allowed: once");
}

TEST(Parameters, RefusesValuesWithWhatIsAllowed) {
  EXPECT_EQ(refusal({{"threshold", "101"}}),
            "prefetch policy 'tree': parameter 'threshold': '101' is out of range; allowed: 1 to 100 (default 51)");
  EXPECT_EQ(refusal({{"threshold", "5x"}}),
            "prefetch policy 'tree': parameter 'threshold': '5x' is not an integer; allowed: 1 to 100 (default 51)");
  EXPECT_EQ(refusal({{"unit", "8k"}}),
            "prefetch policy 'tree': parameter 'unit': '8k' is not a choice; allowed: 4k, 64k or 2m (default 4k)");
  EXPECT_EQ(refusal({{"cascade", "maybe"}}),
            "prefetch policy 'tree': parameter 'cascade': 'maybe' is not a boolean; allowed: true or false (default "
            "false)");
  for (const char* hostile : {"", " 5", "5 ", "0x5", "99999999999999999999", "-1", "nan", "5.0"}) {
    EXPECT_THROW(with({{"threshold", hostile}}), InputError) << hostile;
  }
  for (const char* hostile : {"", "nan", "inf", "-0.1", "1.1", "1e999", "half"}) {
    EXPECT_THROW(with({{"small", hostile}}), InputError) << hostile;
  }
}

TEST(Parameters, APolicyMayOnlyReadWhatItDeclares) {
  const Parameters parameters = with({});
  EXPECT_THROW(parameters.integer("unit"), ModelError);
  EXPECT_THROW(parameters.choice("other"), ModelError);
}

TEST(Parameters, RefusesWrongDeclarations) {
  const auto refused = [](const ParameterTable& wrong) {
    return message_of([&] { check_parameter_table("p", wrong); });
  };
  EXPECT_NO_THROW(check_parameter_table("p", table()));
  EXPECT_NO_THROW(check_parameter_table("p", {integer("0", 1, {0, 2}, "x")}));
  EXPECT_EQ(refused({integer("", 1, {0, 2}, "x")}),
            "p declares a parameter ''; allowed: lower-case letters, digits and underscores");
  EXPECT_EQ(refused({integer("Bad", 1, {0, 2}, "x")}),
            "p declares a parameter 'Bad'; allowed: lower-case letters, digits and underscores");
  EXPECT_EQ(refused({integer("a", 1, {0, 2}, "x"), boolean("a", true, "x")}), "p declares parameter 'a' twice");
  EXPECT_EQ(refused({integer("a", 1, {0, 2}, "")}), "p declares parameter 'a' without documentation");
  EXPECT_EQ(refused({integer("a", 3, {0, 2}, "x")}),
            "p: parameter 'a': '3' is out of range; allowed: 0 to 2 (default 3)");
  EXPECT_EQ(refused({choice("a", "z", {"x", "y"}, "x")}),
            "p: parameter 'a': 'z' is not a choice; allowed: x or y (default z)");
}

}  // namespace
}  // namespace uvmsim::policy
