// SPDX-License-Identifier: Apache-2.0
#include "sim/baseline/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/compare/change.h"
#include "sim/formats/fields.h"
#include "sim/formats/printable.h"
#include "sim/formats/wrapped.h"
#include "sim/report/numbers.h"

namespace uvmsim::baseline {
namespace {

std::string found_text(const MetricVerdict& metric) {
  return metric.found ? report::format_count(*metric.found) : "no such metric";
}

std::string change_of(const MetricVerdict& metric) {
  return metric.found ? compare::change_text(metric.expected, *metric.found) : "-";
}

// What is beyond its tolerance where the baseline has several seeds: noise or change. Empty without any.
std::string seeds_table(const PointVerdict& verdict, std::string_view indent) {
  TextTable table({"of all seeds", "mean", "smallest", "largest", "expected", "got", "is"});
  for (const MetricVerdict& metric : verdict.metrics) {
    if (metric.within || !metric.found || !metric.seeds) continue;
    const compare::SeedRange& seeds = *metric.seeds;
    table.add_row({metric.name, report::format_count(seeds.mean()), report::format_count(seeds.smallest()),
                   report::format_count(seeds.largest()), report::format_count(metric.expected), found_text(metric),
                   metric.is_noise() ? "noise" : "change"});
  }
  return table.is_empty() ? "" : table.text(true, indent);
}

// The metrics that failed, and what the seeds say.
std::string failed_metrics(const PointVerdict& verdict, std::string_view indent) {
  TextTable table({"metric", "expected", "got", "change", "allowed"});
  for (const MetricVerdict& metric : verdict.metrics) {
    if (metric.passed()) continue;
    table.add_row({metric.name, report::format_count(metric.expected), found_text(metric), change_of(metric),
                   metric.tolerance.text()});
  }
  return table.text(true, indent) + seeds_table(verdict, indent);
}

bool changed(const MetricVerdict& metric) { return metric.found != metric.expected; }

bool other_trace(const PointVerdict& verdict) { return verdict.answer.trace_sha256 != verdict.expected_trace_sha256; }

bool changed(const PointVerdict& verdict) {
  return other_trace(verdict) ||
         std::ranges::any_of(verdict.metrics, [](const MetricVerdict& metric) { return changed(metric); });
}

// "the model (since 0123456789ab), the numbers of the system": what is not as it was when the point was looked at last.
std::string what_changed(const PointVerdict& verdict) {
  const MadeBy &before = verdict.expected_made_by, &now = verdict.answer.made_by;
  if (before.model_version.empty()) return "unknown: the baseline is of an older uvmsim; --update notes it";
  std::vector<std::string> changed;
  if (before.model_version != now.model_version) {
    changed.push_back("the model" + (before.commit.empty() ? "" : fmt::format(" (commit {} before)", before.commit)));
  }
  if (before.system_sha256 != now.system_sha256) changed.emplace_back("the numbers of the system");
  if (other_trace(verdict)) changed.emplace_back("the trace");
  if (changed.empty()) return "a plug-in: model, system and trace are as they were";
  return fmt::format("{}", fmt::join(changed, ", "));
}

// Bytes of the UTF-8 character at `at`; 0 when there is none, or none that XML 1.0 may hold.
std::size_t character_bytes(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (is_control(c) && c != 0x7f && c != '\t' && c != '\n' && c != '\r') return 0;
  const std::string_view rest = text.substr(at);
  const bool not_a_character = rest.starts_with("\xef\xbf\xbe") || rest.starts_with("\xef\xbf\xbf");
  return not_a_character ? 0 : utf8_character_bytes(text, at);
}

// Text and attribute values alike.
std::string escaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = character_bytes(text, at);
    if (length != 1) {
      out += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(at, length);
      at += std::max<std::size_t>(length, 1);
      continue;
    }
    const char c = text[at++];
    if (c == '\r') {
      out += "&#13;";
    } else {
      append_markup(c, out);
    }
  }
  return out;
}

// "settled_ns is 1,060,000 instead of 1,051,511 (+0.80 %, allowed: exact)" of the first one outside, and how many more.
std::string failure_message(const PointVerdict& verdict) {
  std::string message;
  std::size_t more = 0;
  for (const MetricVerdict& metric : verdict.metrics) {
    if (metric.passed()) continue;
    if (!message.empty()) {
      ++more;
      continue;
    }
    message = fmt::format("{} is {} instead of {} ({}, allowed: {})", metric.name, found_text(metric),
                          report::format_count(metric.expected), change_of(metric), metric.tolerance.text());
  }
  return more == 0 ? message : fmt::format("{}, and {} more", message, more);
}

// As JUnit has it: seconds, here with milliseconds.
std::string seconds_text(std::uint64_t ns) { return report::format_thousandths(ns / 1000000); }

std::string testcase_xml(const CheckResult& result, const PointVerdict& verdict) {
  const std::string head = fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{}\"", escaped(result.path),
                                       escaped(verdict.name), seconds_text(verdict.answer.host_ns));
  if (verdict.passed()) return head + "/>\n";
  if (!verdict.answer.error.empty()) {
    return fmt::format("{}>\n      <error type=\"{}\" message=\"{}\"/>\n    </testcase>\n", head,
                       verdict.answer.is_bug ? "bug" : "input", escaped(verdict.answer.error));
  }
  return fmt::format("{}>\n      <failure type=\"changed\" message=\"{}\">{}</failure>\n    </testcase>\n", head,
                     escaped(failure_message(verdict)),
                     escaped(fmt::format("\n{}changed: {}\n", failed_metrics(verdict, ""), what_changed(verdict))));
}

struct Counts {
  std::size_t tests = 0, failures = 0, errors = 0;
  std::uint64_t host_ns = 0;
  void add(const CheckResult& result) {
    for (const PointVerdict& verdict : result.verdicts) {
      ++tests;
      host_ns += verdict.answer.host_ns;
      if (!verdict.answer.error.empty()) {
        ++errors;
      } else if (!verdict.passed()) {
        ++failures;
      }
    }
  }
  std::string attributes() const {
    return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{}\"", tests, failures, errors,
                       seconds_text(host_ns));
  }
};

}  // namespace

std::string check_text(const CheckResult& result) {
  std::string text = result.path + "\n";
  for (const PointVerdict& verdict : result.verdicts) {
    if (verdict.passed()) {
      text += fmt::format("  ok    {}\n{}", verdict.name, seeds_table(verdict, "          "));
    } else if (!verdict.answer.error.empty()) {
      text += fmt::format("  FAIL  {}: {}\n", verdict.name, verdict.answer.error);
    } else {
      text += fmt::format("  FAIL  {}\n{}          changed: {}\n", verdict.name, failed_metrics(verdict, "          "),
                          what_changed(verdict));
    }
  }
  const std::size_t failures = result.failures();
  const std::string points = report::format_count(result.verdicts.size(), "point");
  text += failures == 0 ? points + " as expected" : fmt::format("{} of {} not as expected", failures, points);
  if (result.noisy() != 0) text += fmt::format(", {} but for noise", report::format_count(result.noisy()));
  return text + "\n";
}

std::string update_text(const CheckResult& result) {
  std::string text = result.path + "\n";
  std::size_t count = 0;
  for (const PointVerdict& verdict : result.verdicts) {
    if (!changed(verdict)) continue;
    ++count;
    TextTable table({"metric", "before", "now", "change"});
    for (const MetricVerdict& metric : verdict.metrics) {
      if (!changed(metric)) continue;
      table.add_row({metric.name, report::format_count(metric.expected), found_text(metric), change_of(metric)});
    }
    text += fmt::format("  changed  {}\n", verdict.name);
    if (other_trace(verdict)) {
      text += fmt::format("             another trace: SHA-256 {}, before: {}\n", verdict.answer.trace_sha256,
                          verdict.expected_trace_sha256);
    }
    if (!table.is_empty()) text += table.text(true, "             ");
  }
  if (count == 0) {
    return text + fmt::format("nothing changed in {}\n", report::format_count(result.verdicts.size(), "point"));
  }
  return text + fmt::format("{} of {} changed\n", count, report::format_count(result.verdicts.size(), "point"));
}

std::string junit_xml(const std::vector<CheckResult>& results) {
  Counts all;
  for (const CheckResult& result : results) all.add(result);
  std::string xml = fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"uvmsim check\" {}>\n",
                                all.attributes());
  for (const CheckResult& result : results) {
    Counts counts;
    counts.add(result);
    xml += fmt::format("  <testsuite name=\"{}\" {} skipped=\"0\">\n", escaped(result.path), counts.attributes());
    for (const PointVerdict& verdict : result.verdicts) xml += testcase_xml(result, verdict);
    xml += "  </testsuite>\n";
  }
  return xml + "</testsuites>\n";
}

}  // namespace uvmsim::baseline
