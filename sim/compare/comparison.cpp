// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "sim/common/error.h"
#include "sim/common/wildcard.h"
#include "sim/compare/seed_range.h"
#include "sim/formats/did_you_mean.h"
#include "sim/formats/printable.h"

namespace uvmsim::compare {
namespace {

constexpr std::array<std::string_view, 12> kMainMetrics = {
    "footprint_bytes", "capacity_bytes",    "total_ns",   "settled_ns",        "fault_batches", "faulting_pages",
    "htod_bytes",      "htod_transactions", "dtoh_bytes", "dtoh_transactions", "evictions",     "reloaded_pages"};

// Returns "prefetch" for "prefetch.threshold"; empty for a key that belongs to none.
std::string_view owner_of(std::string_view key) {
  const std::size_t dot = key.find('.');
  return dot == std::string_view::npos ? std::string_view() : key.substr(0, dot);
}

std::string text_or_dash(const RunView& run, std::string_view key) {
  return named_or(run.identity, key, std::string("-"));
}

std::vector<const RunView*> both_sides(const std::vector<RunView>& a, const std::vector<RunView>& b) {
  std::vector<const RunView*> all;
  for (const auto* side : {&a, &b}) {
    for (const RunView& run : *side) all.push_back(&run);
  }
  return all;
}

// Returns every key of any run, in the order of first occurrence.
std::vector<std::string> all_keys(const std::vector<const RunView*>& runs) {
  std::vector<std::string> keys;
  std::set<std::string> seen;
  for (const RunView* run : runs) {
    for (const auto& [key, text] : run->identity) {
      if (seen.insert(key).second) keys.push_back(key);
    }
  }
  return keys;
}

// Returns the text that all runs have for a key; nothing when they differ.
std::optional<std::string> common_text(const std::vector<RunView>& runs, std::string_view key) {
  std::optional<std::string> common;
  for (const RunView& run : runs) {
    const std::string text = text_or_dash(run, key);
    if (common && *common != text) return std::nullopt;
    common = text;
  }
  return common;
}

// Formats a policy with its parameters, or a trace by name (and by its hash where the names are equal).
std::string side_text(const std::vector<RunView>& runs, std::string_view key, bool same_trace_name) {
  if (!common_text(runs, key)) return "several";
  const RunView& run = runs.front();
  std::string text = full_text(run, key, [&](std::string_view inner) { return common_text(runs, inner).has_value(); });
  if (key == "trace" && same_trace_name) text += fmt::format(" (sha256 {})", text_or_dash(run, key).substr(0, 12));
  return text;
}

Across describe_across(const std::vector<RunView>& a, const std::vector<RunView>& b, const std::string& key) {
  const bool same_name = !a.empty() && !b.empty() && a.front().trace_name == b.front().trace_name;
  return {key, side_text(a, key, same_name), side_text(b, key, same_name)};
}

// Returns keys with one text throughout a and another throughout b, without the keys that belong to such a key.
std::vector<std::string> differing_keys(const std::vector<RunView>& a, const std::vector<RunView>& b) {
  std::vector<std::string> keys;
  for (const std::string& key : all_keys(both_sides(a, b))) {
    const auto in_a = common_text(a, key), in_b = common_text(b, key);
    if (in_a && in_b && *in_a != *in_b) keys.push_back(key);
  }
  std::vector<std::string> owners;
  for (const std::string& key : keys) {
    const std::string_view owner = owner_of(key);
    if (owner.empty() || std::ranges::find(keys, owner) == keys.end()) owners.push_back(key);
  }
  return owners;
}

bool is_free(std::string_view key, const std::vector<std::string>& across) {
  return std::ranges::any_of(across, [&](const std::string& one) { return belongs_to(key, one); });
}

// Returns a text that is equal for runs that match.
std::string matching_text(const RunView& run, const std::vector<std::string>& across) {
  std::vector<std::string> lines;
  for (const auto& [key, text] : run.identity) {
    if (!is_free(key, across)) lines.push_back(key + "\n" + text + "\n");
  }
  std::ranges::sort(lines);  // a later version may write its keys in another order
  return fmt::format("{}", fmt::join(lines, ""));
}

using RunsByText = std::map<std::string, const RunView*>;

RunsByText by_matching_text(const std::vector<RunView>& runs, const std::vector<std::string>& across) {
  RunsByText found;
  for (const RunView& run : runs) {
    const auto [at, is_new] = found.emplace(matching_text(run, across), &run);
    if (is_new) continue;
    const RunView& before = *at->second;
    if (before.metrics == run.metrics) continue;  // a repetition of the same run
    if (across.empty()) {
      throw_input_error("{} and {} say different things about one and the same run", before.origin, run.origin);
    }
    throw_input_error("compared across {}, {} and {} belong to the same run of the other side; choose one of them",
                      fmt::join(across, ","), before.origin, run.origin);
  }
  return found;
}

std::vector<std::string> chosen_metrics(const std::vector<RunView>& a, const std::vector<RunView>& b,
                                        const std::vector<std::string>& patterns) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const RunView* run : both_sides(a, b)) {
    if (!names.empty() && run->metrics.size() == names.size() && seen.contains(run->metrics.back().first)) continue;
    for (const auto& [name, value] : run->metrics) {
      if (seen.insert(name).second) names.push_back(name);
    }
  }
  if (patterns.empty()) return names;
  for (const std::string& pattern : patterns) {
    if (std::ranges::none_of(names, [&](const auto& name) { return matches(pattern, name); })) {
      throw_input_error(
          "no run has a metric '{}'{}; allowed: total_ns, settled_ns, ideal_ns, settled_ideal_ns, every counter, "
          "settled_<counter>",
          printable(pattern), did_you_mean(pattern, names));
    }
  }
  std::erase_if(names, [&](const auto& name) {
    return std::ranges::none_of(patterns, [&](const auto& one) { return matches(one, name); });
  });
  return names;
}

std::vector<MetricChange> changes_between(const RunView& a, const RunView& b, const std::vector<std::string>& names,
                                          const std::vector<Tolerance>& tolerances) {
  std::vector<MetricChange> changes;
  const std::map<std::string_view, std::uint64_t> in_a(a.metrics.begin(), a.metrics.end()),
      in_b(b.metrics.begin(), b.metrics.end());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto at_a = in_a.find(names[i]), at_b = in_b.find(names[i]);
    if (at_a == in_a.end() && at_b == in_b.end()) continue;
    MetricChange change{names[i], std::nullopt, std::nullopt};
    if (at_a != in_a.end()) change.a = at_a->second;
    if (at_b != in_b.end()) change.b = at_b->second;
    if (change.a && change.b && tolerances[i].allows(*change.a, *change.b)) continue;
    changes.push_back(std::move(change));
  }
  return changes;
}

SeedRanges ranges_of(const std::vector<RunView>& runs, const std::vector<std::string>& keys) {
  SeedRanges ranges;
  for (const RunView& run : runs) ranges.add(matching_text(run, keys), run.metrics);
  return ranges;
}

void check_across(const std::vector<RunView>& a, const std::vector<RunView>& b,
                  const std::vector<std::string>& across) {
  const std::vector<const RunView*> both = both_sides(a, b);
  std::vector<std::string> allowed;
  for (const std::string& key : all_keys(both)) {
    if (owner_of(key) != "system") allowed.push_back(key);
  }
  for (const std::string& key : across) {
    const bool known =
        std::ranges::any_of(both, [&](const RunView* run) { return find_named(run->identity, key) != nullptr; });
    if (!known) {
      throw_input_error("no run has '{}' among what determined it{}; allowed: {}, system.<key>", printable(key),
                        did_you_mean(key, allowed), fmt::join(allowed, ", "));
    }
  }
}

}  // namespace

std::size_t Comparison::changed_pairs() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(pairs, [](const ComparedPair& pair) { return !pair.changes.empty(); }));
}

Comparison compare(const std::vector<RunView>& a, const std::vector<RunView>& b, const CompareOptions& options) {
  Comparison result;
  std::vector<std::string> across = options.across;
  check_across(a, b, across);
  const std::vector<std::string> differing = differing_keys(a, b);
  if (across.empty() && differing.size() == 1) across = differing;
  for (const std::string& key : differing) {
    if (!is_free(key, across)) result.hindrances.push_back(describe_across(a, b, key));
  }
  for (const std::string& key : across) {
    const Across one = describe_across(a, b, key);
    if (one.a != one.b || one.a == "several") result.across.push_back(one);
  }

  const std::vector<std::string> names = chosen_metrics(a, b, options.metrics);
  std::vector<Tolerance> tolerances;
  for (const std::string& name : names) tolerances.push_back(options.tolerances.of(name));
  const RunsByText runs_a = by_matching_text(a, across), runs_b = by_matching_text(b, across);
  std::vector<std::string> but_seed = across;
  but_seed.emplace_back("seed");
  const SeedRanges ranges_a = ranges_of(a, but_seed), ranges_b = ranges_of(b, but_seed);
  const auto is_noise = [&](const RunView& run, const RunView& other, const MetricChange& change) {
    const SeedRange* const of_a = ranges_a.of(matching_text(run, but_seed), change.name);
    const SeedRange* const of_b = ranges_b.of(matching_text(other, but_seed), change.name);
    return of_a != nullptr && of_b != nullptr && of_a->overlaps(*of_b);
  };
  for (const RunView& run : a) {
    const std::string text = matching_text(run, across);
    if (runs_a.at(text) != &run) continue;
    const auto other = runs_b.find(text);
    if (other == runs_b.end()) {
      result.only_a.push_back(&run);
    } else {
      ComparedPair pair{&run, other->second, changes_between(run, *other->second, names, tolerances)};
      pair.noise = std::erase_if(pair.changes,
                                 [&](const MetricChange& change) { return is_noise(run, *other->second, change); });
      result.pairs.push_back(std::move(pair));
    }
  }
  for (const RunView& run : b) {
    const std::string text = matching_text(run, across);
    if (runs_b.at(text) == &run && runs_a.count(text) == 0) result.only_b.push_back(&run);
  }
  return result;
}

std::vector<std::string> varying_keys(const std::vector<const RunView*>& runs) {
  std::vector<std::string> varying;
  for (const std::string& key : all_keys(runs)) {
    const std::string_view owner = owner_of(key);
    // Compares only runs with the same owner: other policies have other parameters.
    std::map<std::string, std::string> text_by_owner;
    for (const RunView* run : runs) {
      const std::string text = text_or_dash(*run, key);
      const auto [at, is_new] = text_by_owner.emplace(owner.empty() ? "" : text_or_dash(*run, owner), text);
      if (is_new || at->second == text) continue;
      varying.push_back(key);
      break;
    }
  }
  return varying;
}

bool is_main_metric(std::string_view name) { return std::ranges::find(kMainMetrics, name) != kMainMetrics.end(); }

}  // namespace uvmsim::compare
