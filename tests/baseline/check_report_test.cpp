// SPDX-License-Identifier: Apache-2.0
// The reports of a check, for people and for CI, from hand-made verdicts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/baseline/check.h"

namespace uvmsim::baseline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

MetricVerdict metric(const std::string& name, std::uint64_t expected, std::optional<std::uint64_t> found,
                     const std::string& allowed = "exact") {
  const auto tolerance = compare::Tolerance::parse(allowed, name, "here");
  return {name, expected, found, tolerance, found && tolerance.allows(expected, *found), {}};
}

PointVerdict ran(const std::string& name, std::vector<MetricVerdict> metrics) {
  const MadeBy before{"0.1.0", "0123456789ab", "m", "s"};
  return {name, "aa", before, {"", false, "aa", before, {}, 1234567890}, std::move(metrics)};
}
PointVerdict broken(const std::string& name, const std::string& error, bool is_bug = false) {
  return {name, "aa", {}, {error, is_bug, "", {}, {}}, {}};
}

CheckResult example() {
  return {"mine.json",
          {ran("fine", {metric("evictions", 5, 5)}),
           ran("slower", {metric("settled_ns", 1000000, 1030000, "2 %"), metric("evictions", 5, 6, "1"),
                          metric("fault_batches", 0, 3)}),
           broken("gone", "x.uvmt: no such file"), ran("odd", {metric("setled_ns", 7, std::nullopt)})}};
}

TEST(CheckText, NamesMetricExpectedFoundAndChange) {
  EXPECT_EQ(check_text(example()),
            "mine.json\n"
            "  ok    fine\n"
            "  FAIL  slower\n"
            "          metric          expected        got   change  allowed\n"
            "          settled_ns     1,000,000  1,030,000  +3.00 %      2 %\n"
            "          fault_batches          0          3   from 0    exact\n"
            "          changed: a policy: model, system and trace are as they were\n"
            "  FAIL  gone: x.uvmt: no such file\n"
            "  FAIL  odd\n"
            "          metric     expected             got  change  allowed\n"
            "          setled_ns         7  no such metric       -    exact\n"
            "          changed: a policy: model, system and trace are as they were\n"
            "3 of 4 points not as expected\n");
  EXPECT_THAT(check_text({"b", {ran("fine", {metric("evictions", 5, 5)})}}), HasSubstr("1 point as expected\n"));
}

TEST(CheckText, SaysWhatChanged) {
  PointVerdict verdict = ran("slower", {metric("evictions", 5, 6)});
  const auto text = [&] { return check_text({"b", {verdict}}); };
  verdict.answer.made_by.model_version = "n";
  EXPECT_THAT(text(), HasSubstr("changed: the model (commit 0123456789ab before)\n"));
  verdict.answer.made_by.system_sha256 = "t";
  EXPECT_THAT(text(), HasSubstr("changed: the model (commit 0123456789ab before), the numbers of the system\n"));
  verdict.answer.made_by.model_version = "m";
  EXPECT_THAT(text(), HasSubstr("changed: the numbers of the system\n"));
  verdict.expected_made_by = {};
  EXPECT_THAT(text(), HasSubstr("changed: unknown: the baseline is of an older uvmsim"));
}

TEST(CheckText, TellsNoiseFromChange) {
  compare::SeedRange seeds;
  for (const std::uint64_t value : {4, 5, 8}) seeds.add(value);
  const auto with_seeds = [&](const MetricVerdict& one) {
    MetricVerdict out = one;
    out.seeds = seeds;
    return out;
  };
  const MetricVerdict noise = with_seeds(metric("evictions", 5, 7)), edge = with_seeds(metric("reloads", 5, 9, "1")),
                      change = with_seeds(metric("fault_batches", 5, 9));
  EXPECT_EQ(check_text({"b", {ran("random", {noise, edge})}}),
            "b\n"
            "  ok    random\n"
            "          of all seeds  mean  smallest  largest  expected  got     is\n"
            "          evictions        6         4        8         5    7  noise\n"
            "          reloads          6         4        8         5    9  noise\n"
            "1 point as expected, 1 but for noise\n");
  const std::string failed = check_text({"b", {ran("random", {noise, change})}});
  EXPECT_THAT(failed, HasSubstr("fault_batches         5    9  +80.00 %    exact\n"));
  EXPECT_THAT(failed, HasSubstr("evictions         6         4        8         5    7   noise\n"));
  EXPECT_THAT(failed, HasSubstr("fault_batches     6         4        8         5    9  change\n"));
  EXPECT_THAT(failed, HasSubstr("1 of 1 point not as expected\n"));
  const std::string xml = junit_xml({{"b", {ran("random", {noise, change})}}});
  EXPECT_THAT(xml, HasSubstr("message=\"fault_batches is 9 instead of 5 (+80.00 %, allowed: exact)\""));
}

TEST(UpdateText, NamesWhatChangedWithinTheTolerancesToo) {
  const std::string text =
      update_text({"b",
                   {ran("fine", {metric("evictions", 5, 5)}),
                    ran("moved", {metric("settled_ns", 1000, 1001, "2 %"), metric("evictions", 5, 5)})}});
  EXPECT_THAT(text, HasSubstr("changed  moved\n"));
  EXPECT_THAT(text, HasSubstr("settled_ns   1,000  1,001  +0.10 %\n"));
  EXPECT_THAT(text, Not(HasSubstr("evictions")));
  EXPECT_THAT(text, HasSubstr("1 of 2 points changed\n"));
  EXPECT_THAT(update_text({"b", {ran("fine", {})}}), HasSubstr("nothing changed in 1 point\n"));
}

TEST(UpdateText, NamesATraceThatWasReplaced) {
  PointVerdict verdict = ran("p", {metric("evictions", 5, 5)});
  verdict.answer.trace_sha256 = "bb";
  EXPECT_THAT(update_text({"b", {verdict}}), HasSubstr("another trace: SHA-256 bb, before: aa\n"));
}

TEST(Junit, CountsFailuresAndErrorsApart) {
  const std::string xml = junit_xml({example(), {"other.json", {broken("crash", "signal 11", true)}}});
  EXPECT_THAT(xml,
              HasSubstr("<testsuites name=\"uvmsim check\" tests=\"5\" failures=\"2\" errors=\"2\" time=\"3.703\">"));
  EXPECT_THAT(
      xml,
      HasSubstr("<testsuite name=\"mine.json\" tests=\"4\" failures=\"2\" errors=\"1\" time=\"3.703\" skipped=\"0\">"));
  EXPECT_THAT(xml, HasSubstr("<testcase classname=\"mine.json\" name=\"fine\" time=\"1.234\"/>"));
  EXPECT_THAT(xml, HasSubstr("<failure type=\"changed\" message=\"settled_ns is 1,030,000 instead of 1,000,000 "
                             "(+3.00 %, allowed: 2 %), and 1 more\">"));
  EXPECT_THAT(xml, HasSubstr("<error type=\"input\" message=\"x.uvmt: no such file\"/>"));
  EXPECT_THAT(xml, HasSubstr("<error type=\"bug\" message=\"signal 11\"/>"));
}

TEST(Junit, EscapesWhatXmlCannotHold) {
  const std::string xml =
      junit_xml({{"a<b>&\"c\".json",
                  {broken("tab\there", "nul" + std::string(1, '\0') + " esc\x1b <&> \xff \xc3\xa9"),
                   broken("edge", "\xef\xbf\xbe \xed\xa0\x80 \xf4\x90\x80\x80 \xc0\x80 \xf0\x9f\x98\x80")}}});
  EXPECT_THAT(xml, HasSubstr("name=\"a&lt;b&gt;&amp;&quot;c&quot;.json\""));
  EXPECT_THAT(xml, HasSubstr("nul\xef\xbf\xbd esc\xef\xbf\xbd &lt;&amp;&gt; \xef\xbf\xbd \xc3\xa9"));
  EXPECT_EQ(xml.find('\0'), std::string::npos);
  EXPECT_EQ(xml.find("\xef\xbf\xbe"), std::string::npos);
  EXPECT_EQ(xml.find("\xed\xa0\x80"), std::string::npos);
  EXPECT_EQ(xml.find("\xf4\x90"), std::string::npos);
  EXPECT_EQ(xml.find("\xc0\x80"), std::string::npos);
  EXPECT_THAT(xml, HasSubstr("\xf0\x9f\x98\x80"));  // characters beyond the basic plane are allowed
}

}  // namespace
}  // namespace uvmsim::baseline
