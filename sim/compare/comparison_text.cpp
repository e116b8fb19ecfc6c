// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "sim/compare/change.h"
#include "sim/formats/wrapped.h"
#include "sim/report/numbers.h"

namespace uvmsim::compare {
namespace {

std::string value_text(const std::optional<std::uint64_t>& value) { return value ? report::format_count(*value) : "-"; }

// Formats "before.jsonl: 3 runs, uvmsim 0.1.0, plug-in next_unit.so ab12...".
std::string side_line(const RunSet& set) {
  std::string line = fmt::format("{}: {}", set.name, report::format_count(set.runs.size(), "run"));
  if (!set.missing.empty()) line += fmt::format(" ({} missing)", set.missing.size());
  std::vector<std::string> seen;
  for (const RunView& run : set.runs) {
    for (const auto& [key, text] : run.provenance) {
      const bool is_hash = text.size() == 64;
      std::string made_by = fmt::format(", {} {}", key, is_hash ? text.substr(0, 12) : text);
      if (std::ranges::find(seen, made_by) == seen.end()) seen.push_back(std::move(made_by));
    }
  }
  return line + fmt::format("{}", fmt::join(seen, ""));
}

std::string changes_table(const ComparedPair& pair, bool all_metrics) {
  TextTable table({"metric", "a", "b", "change"});
  std::size_t hidden = 0;
  // Other metrics are shown if no main metric changed.
  const bool any_main = std::ranges::any_of(pair.changes, is_main_metric, &MetricChange::name);
  for (const MetricChange& change : pair.changes) {
    if (!all_metrics && any_main && !is_main_metric(change.name)) {
      ++hidden;
      continue;
    }
    table.add_row({change.name, value_text(change.a), value_text(change.b), change_text(change.a, change.b)});
  }
  std::string text = table.text(true, "  ");
  if (hidden != 0) {
    text += fmt::format("  {} changed: --all shows {}\n", report::format_count(hidden, "further metric"),
                        hidden == 1 ? "it" : "them");
  }
  return text;
}

// The differences between the runs of a comparison, and their common properties.
class Labels {
 public:
  explicit Labels(const Comparison& comparison) : across_(comparison.across) {
    std::vector<const RunView*> runs;
    for (const ComparedPair& pair : comparison.pairs) {
      runs.push_back(pair.a);
      runs.push_back(pair.b);
    }
    runs.insert(runs.end(), comparison.only_a.begin(), comparison.only_a.end());
    runs.insert(runs.end(), comparison.only_b.begin(), comparison.only_b.end());
    for (const std::string& key : varying_keys(runs)) {
      if (!is_across(key)) varying_.insert(key);
    }
    if (!runs.empty()) {
      shared_ = describe_run(*runs.front(), [&](std::string_view key) {
        return varying_.count(std::string(key)) == 0 && !is_across(key) && !key.starts_with("system.");
      });
    }
  }

  const std::string& shared() const { return shared_; }
  std::string of(const RunView& run) const {
    const std::string text =
        describe_run(run, [&](std::string_view key) { return varying_.count(std::string(key)) != 0; });
    return text.empty() ? run.origin : text;
  }

 private:
  bool is_across(std::string_view key) const {
    return std::ranges::any_of(across_, [&](const Across& one) { return belongs_to(key, one.key); });
  }

  const std::vector<Across>& across_;
  std::set<std::string> varying_;
  std::string shared_;
};

std::string across_text(const std::vector<Across>& across) {
  std::vector<std::string> parts;
  for (const Across& one : across) parts.push_back(fmt::format("{} {} (a) and {} (b)", one.key, one.a, one.b));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string missing_text(const RunSet& set, const char* side) {
  std::string text;
  for (const std::string& label : set.missing) text += fmt::format("no result in {}: {}\n", side, label);
  return text;
}

std::string last_line(const Comparison& comparison, bool tolerant) {
  const std::size_t changed = comparison.changed_pairs();
  if (comparison.pairs.empty()) return "no run of a has one in b to compare with\n";
  std::size_t noise = 0;
  for (const ComparedPair& pair : comparison.pairs) noise += pair.noise;
  std::string beyond = tolerant ? " beyond the tolerance" : "";
  if (noise != 0) {
    beyond += fmt::format(" beyond what the seeds scatter ({} within that)", report::format_count(noise, "change"));
  }
  if (changed == 0) {
    return fmt::format("no difference{} in {}\n", beyond, report::format_count(comparison.pairs.size(), "run"));
  }
  return fmt::format("{} of {} differ{}{}\n", report::format_count(changed),
                     report::format_count(comparison.pairs.size(), "run"), changed == 1 ? "s" : "", beyond);
}

}  // namespace

std::string comparison_text(const Comparison& comparison, const RunSet& a, const RunSet& b,
                            const TextOptions& options) {
  const Labels labels(comparison);
  std::string text = fmt::format("a: {}\nb: {}\n", side_line(a), side_line(b));
  if (!comparison.across.empty()) text += fmt::format("compared across {}\n", across_text(comparison.across));
  if (!labels.shared().empty()) text += wrapped_line("in common: " + labels.shared(), 2) + "\n";
  text += "\n";
  for (const ComparedPair& pair : comparison.pairs) {
    if (pair.changes.empty()) continue;
    if (comparison.pairs.size() > 1) text += labels.of(*pair.a) + "\n";
    text += changes_table(pair, options.all_metrics) + "\n";
  }
  for (const RunView* run : comparison.only_a) text += fmt::format("only in a: {}\n", labels.of(*run));
  for (const RunView* run : comparison.only_b) text += fmt::format("only in b: {}\n", labels.of(*run));
  text += missing_text(a, "a") + missing_text(b, "b");
  if (comparison.pairs.empty() && !comparison.hindrances.empty()) {
    std::vector<std::string> keys;
    for (const Across& one : comparison.hindrances) keys.push_back(one.key);
    text += fmt::format("a and b differ in {}; --across {} compares them all the same\n",
                        across_text(comparison.hindrances), fmt::join(keys, ","));
  }
  return text + last_line(comparison, options.tolerant);
}

}  // namespace uvmsim::compare
