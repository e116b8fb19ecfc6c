// SPDX-License-Identifier: Apache-2.0
#include "sim/baseline/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "sim/common/plain_text.h"
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

// Lists metrics beyond their tolerance with the range of the baseline's seeds, as noise or change. Empty with one seed.
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

// Lists the metrics that failed, and the ranges of the seeds.
std::string failed_metrics(const PointVerdict& verdict, std::string_view indent) {
  TextTable table({"metric", "expected", "got", "change", "allowed"});
  for (const MetricVerdict& metric : verdict.metrics) {
    if (metric.passed()) continue;
    table.add_row({metric.name, report::format_count(metric.expected), found_text(metric), change_of(metric),
                   metric.tolerance.text()});
  }
  return table.text(true, indent) + seeds_table(verdict, indent);
}

// Lists moves that a one-sided limit allowed: "settled_ns is 900 instead of 1,000 (-10.00 %), which is allowed: at most
// +1 %".
std::string free_moves(const PointVerdict& verdict, std::string_view indent) {
  std::string text;
  for (const MetricVerdict& metric : verdict.metrics) {
    if (!metric.within || !metric.tolerance.one_sided() || metric.found == metric.expected) continue;
    text += fmt::format("{}{} is {} instead of {} ({}), allowed: {}\n", indent, metric.name, found_text(metric),
                        report::format_count(metric.expected), change_of(metric), metric.tolerance.text());
  }
  return text;
}

bool changed(const MetricVerdict& metric) { return metric.found != metric.expected; }

bool other_trace(const PointVerdict& verdict) { return verdict.answer.trace_sha256 != verdict.expected_trace_sha256; }

bool changed(const PointVerdict& verdict) {
  return other_trace(verdict) ||
         std::ranges::any_of(verdict.metrics, [](const MetricVerdict& metric) { return changed(metric); });
}

// Lists "prefetch.threshold (51 before, 40 now)" for each policy and parameter whose value changed. If the policy
// itself changed, its parameters are not listed.
std::vector<std::string> changed_choices(const compare::NamedTexts& before, const compare::NamedTexts& now) {
  std::vector<std::string> changed;
  const auto text = [](const compare::NamedTexts& all, const std::string& key) {
    return compare::named_or(all, key, std::string("none"));
  };
  std::vector<std::string> keys;
  for (const auto* all : {&before, &now}) {
    for (const auto& [key, value] : *all) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  }
  for (const std::string& key : keys) {
    const std::string owner = key.substr(0, key.find('.'));
    if (owner != key && text(before, owner) != text(now, owner)) continue;
    if (text(before, key) == text(now, key)) continue;
    changed.push_back(fmt::format("{} ({} before, {} now)", key, text(before, key), text(now, key)));
  }
  return changed;
}

// Lists the conditions that changed since the last update: "the model (since 0123456789ab), the numbers of the system".
std::string what_changed(const PointVerdict& verdict) {
  const MadeBy &before = verdict.expected_made_by, &now = verdict.answer.made_by;
  if (before.model_version.empty()) return "unknown: the baseline is of an older uvmsim; --update notes it";
  std::vector<std::string> changed;
  if (before.model_version != now.model_version) {
    changed.push_back("the model" + (before.commit.empty() ? "" : fmt::format(" (commit {} before)", before.commit)));
  }
  if (before.system_sha256 != now.system_sha256) changed.emplace_back("the numbers of the system");
  if (other_trace(verdict)) changed.emplace_back("the trace");
  if (!before.choices.empty()) {  // an older baseline has none
    std::ranges::move(changed_choices(before.choices, now.choices), std::back_inserter(changed));
  }
  if (changed.empty()) return "a policy: model, system and trace are as they were";
  return fmt::format("{}", fmt::join(changed, ", "));
}

// Returns the bytes of the UTF-8 character at `at`; 0 if there is none, or if XML 1.0 does not allow it.
std::size_t character_bytes(std::string_view text, std::size_t at) {
  const char c = text[at];
  if (is_control(c) && c != 0x7f && c != '\t' && c != '\n' && c != '\r') return 0;
  const std::string_view rest = text.substr(at);
  const bool not_a_character = rest.starts_with("\xef\xbf\xbe") || rest.starts_with("\xef\xbf\xbf");
  return not_a_character ? 0 : utf8_character_bytes(text, at);
}

// Escapes text and attribute values.
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

// Describes the first metric outside its tolerance and counts the others: "settled_ns is 1,060,000 instead of 1,051,511
// (+0.80 %, allowed: exact)".
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

// Formats seconds, as JUnit requires, with milliseconds.
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
  std::string text = plain_text(result.path) + "\n";
  for (const PointVerdict& verdict : result.verdicts) {
    if (verdict.passed()) {
      text += fmt::format("  ok    {}\n{}{}", plain_text(verdict.name), free_moves(verdict, "          "),
                          seeds_table(verdict, "          "));
    } else if (!verdict.answer.error.empty()) {
      text += fmt::format("  FAIL  {}: {}\n", plain_text(verdict.name), plain_line(verdict.answer.error));
    } else {
      text += fmt::format("  FAIL  {}\n{}          changed: {}\n", plain_text(verdict.name),
                          failed_metrics(verdict, "          "), what_changed(verdict));
    }
  }
  const std::size_t failures = result.failures();
  const std::string points = report::format_count(result.verdicts.size(), "point");
  text += failures == 0 ? points + " as expected" : fmt::format("{} of {} not as expected", failures, points);
  if (result.noisy() != 0) text += fmt::format(", {} but for noise", report::format_count(result.noisy()));
  return text + "\n";
}

std::string update_text(const CheckResult& result) {
  std::string text = plain_text(result.path) + "\n";
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
