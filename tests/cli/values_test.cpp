// SPDX-License-Identifier: Apache-2.0
#include "sim/sweep/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "sim/common/error.h"

namespace uvmsim::sweep {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Values, Osf) {
  EXPECT_EQ(parse_osf("--osf", "1"), 1000u);
  EXPECT_EQ(parse_osf("--osf", "1.25"), 1250u);
  EXPECT_EQ(parse_osf("--osf", "0.001"), 1u);
  EXPECT_EQ(parse_osf("--osf", "1000000"), 1000000000u);
  EXPECT_THAT(parse_osf_list("--osf", "1,1.5,10"), ElementsAre(1000, 1500, 10000));
}

TEST(Values, OsfThatIsNone) {
  for (const char* text :
       {"0",    "0.000", "-1",  "-0.5", "+2", "",   ".",    "1.",  ".5",          "1.2345",
        "1e3",  "nan",   "inf", "two",  "1 ", " 1", "0x10", "1,5", "1000000.001", "99999999999999999999",
        "1.-5", "1.+5"}) {
    EXPECT_THAT(error_of([&] { parse_osf("--osf", text); }),
                AllOf(HasSubstr("--osf: '" + std::string(text) + "'"), HasSubstr("allowed: a decimal number above 0")))
        << text;
  }
  for (const char* text : {"", ",", "1,", ",1", "1,,2"}) {
    EXPECT_THAT(error_of([&] { parse_osf_list("--osf", text); }), HasSubstr("allowed")) << text;
  }
  EXPECT_THAT(error_of([] { parse_osf_list("--osf", "1,2,1.0"); }), HasSubstr("1.0 is given twice"));
}

TEST(Values, Sizes) {
  EXPECT_EQ(parse_size("--s", "4096"), 4096u);
  EXPECT_EQ(parse_size("--s", "0"), 0u);
  EXPECT_EQ(parse_size("--s", "12GiB"), std::uint64_t{12} << 30);
  EXPECT_EQ(parse_size("--s", "1.5 MiB"), 1536u << 10);
  EXPECT_EQ(parse_size("--s", "80GB"), 80000000000u);
}

TEST(Values, SizesThatAreNone) {
  for (const char* text : {"", "GiB", "-1", "-1GiB", "12Gb", "12 gib", "1.3B", "1e9", "99999999999TiB", "4096 "}) {
    EXPECT_THAT(error_of([&] { parse_size("--s", text); }), AllOf(HasSubstr("--s: "), HasSubstr("allowed"))) << text;
  }
}

TEST(Values, WholeNumbers) {
  EXPECT_EQ(parse_unsigned("--seed", "18446744073709551615"), 18446744073709551615u);
  for (const char* text : {"", "-1", "1.0", "x", "18446744073709551616"}) {
    EXPECT_THAT(error_of([&] { parse_unsigned("--seed", text); }), HasSubstr("allowed: 0 to")) << text;
  }
}

TEST(Values, Policies) {
  EXPECT_EQ(parse_policy("--prefetch", "tree").name, "tree");
  const PolicyChoice choice = parse_policy("--prefetch", "tree:threshold=51,text=a=b");
  EXPECT_EQ(choice.name, "tree");
  EXPECT_THAT(choice.parameters, ElementsAre(Pair("threshold", "51"), Pair("text", "a=b")));
  for (const char* text : {"", ":", "tree:", "tree:threshold", "tree:=1", "tree:a=1,", ":a=1"}) {
    EXPECT_THAT(error_of([&] { parse_policy("--prefetch", text); }), HasSubstr("allowed: NAME or NAME:key=value"))
        << text;
  }
}

TEST(Values, Choices) {
  EXPECT_EQ(parse_choice("--layout", "none", {"recorded", "none"}), "none");
  EXPECT_THAT(error_of([] {
                parse_choice("--layout", "recoded", {"recorded", "none"});
              }),
              AllOf(HasSubstr("did you mean 'recorded'"), HasSubstr("allowed: recorded, none")));
}

TEST(Values, WhateverTheyHoldTheErrorIsOneLine) {
  EXPECT_THAT(error_of([] { parse_choice("--layout", "\x1b[2Jno\nne\x7f", {"none"}); }), HasSubstr("'?[2Jno?ne?'"));
}

}  // namespace
}  // namespace uvmsim::sweep
