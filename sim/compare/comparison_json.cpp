// SPDX-License-Identifier: Apache-2.0
#include "sim/compare/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "sim/compare/change.h"
#include "sim/formats/fields.h"
#include "sim/policy/policy_choices.h"
#include "sim/policy/registry.h"
#include "sim/report/numbers.h"

namespace uvmsim::compare {
namespace {

using Json = nlohmann::ordered_json;

// The columns of the CSV that describe a run, besides the parameters of policies.
const std::vector<std::string_view>& columns() {
  static const std::vector<std::string_view> all = [] {
    std::vector<std::string_view> names = {"trace", "system", "layout", "osf", "capacity_bytes"};
    for (const policy::Slot slot : kPolicySlots) names.push_back(policy::slot_name(slot));
    names.push_back("seed");
    return names;
  }();
  return all;
}

Json texts_json(const NamedTexts& texts) { return Json::object_t(texts.begin(), texts.end()); }

// The numbers of the system are left out: there are more than a hundred, and results contain them.
Json run_json(const RunView& run) {
  NamedTexts identity = run.identity;
  std::erase_if(identity, [](const auto& one) { return one.first.starts_with("system."); });
  return {{"origin", run.origin},
          {"trace_file", run.trace_name},
          {"identity", texts_json(identity)},
          {"made_by", texts_json(run.provenance)}};
}

Json across_json(const std::vector<Across>& across) {
  Json out = Json::array();
  for (const Across& one : across) out.push_back({{"key", one.key}, {"a", one.a}, {"b", one.b}});
  return out;
}

Json value_json(const std::optional<std::uint64_t>& value) { return value ? Json(*value) : Json(nullptr); }

// Returns nothing where a side lacks the metric, or began with 0.
std::optional<std::int64_t> percent_of(const MetricChange& change) {
  return change.a && change.b ? change_percent_thousandths(*change.a, *change.b) : std::nullopt;
}

Json change_json(const MetricChange& change) {
  const auto percent = percent_of(change);
  return {{"metric", change.name},
          {"a", value_json(change.a)},
          {"b", value_json(change.b)},
          {"change_percent_thousandths", percent ? Json(*percent) : Json(nullptr)}};
}

Json side_json(const RunSet& set, const std::vector<const RunView*>& only) {
  Json out = {{"name", set.name}, {"runs", set.runs.size()}, {"missing", set.missing}, {"only_here", Json::array()}};
  for (const RunView* run : only) out["only_here"].push_back(run_json(*run));
  return out;
}

// Formats a policy with its parameters in one field.
std::string field_of(const RunView& run, std::string_view key) {
  if (find_named(run.identity, key) == nullptr) return "";
  return full_text(run, key, [](std::string_view) { return true; });
}

// Returns the fields that identify a row's run; where the two sides differ, "lrm -> lru".
std::string run_fields(const RunView* a, const RunView* b) {
  std::vector<std::string> fields;
  for (const std::string_view key : columns()) {
    const std::string of_a = a != nullptr ? field_of(*a, key) : field_of(*b, key);
    const std::string of_b = b != nullptr ? field_of(*b, key) : of_a;
    fields.push_back(csv_field(of_a == of_b ? of_a : of_a + " -> " + of_b));
  }
  return fmt::format("{}", fmt::join(fields, ","));
}

std::string decimal_percent(const MetricChange& change) {
  const auto percent = percent_of(change);
  return percent ? report::format_signed_thousandths(*percent) : "";
}

std::string value_field(const std::optional<std::uint64_t>& value) { return value ? fmt::format("{}", *value) : ""; }

}  // namespace

std::string comparison_json(const Comparison& comparison, const RunSet& a, const RunSet& b) {
  Json out;
  out["schema"] = "uvmsim.comparison/1";
  out["across"] = across_json(comparison.across);
  out["a"] = side_json(a, comparison.only_a);
  out["b"] = side_json(b, comparison.only_b);
  out["compared"] = comparison.pairs.size();
  out["changed"] = Json::array();
  for (const ComparedPair& pair : comparison.pairs) {
    if (pair.changes.empty()) continue;
    Json changes = Json::array();
    for (const MetricChange& change : pair.changes) changes.push_back(change_json(change));
    out["changed"].push_back({{"a", run_json(*pair.a)}, {"b", run_json(*pair.b)}, {"metrics", std::move(changes)}});
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string comparison_csv(const Comparison& comparison) {
  std::string text = fmt::format("{},side,metric,a,b,change_percent\n", fmt::join(columns(), ","));
  for (const ComparedPair& pair : comparison.pairs) {
    for (const MetricChange& change : pair.changes) {
      text += fmt::format("{},both,{},{},{},{}\n", run_fields(pair.a, pair.b), csv_field(change.name),
                          value_field(change.a), value_field(change.b), decimal_percent(change));
    }
  }
  for (const RunView* run : comparison.only_a) text += run_fields(run, nullptr) + ",a,,,,\n";
  for (const RunView* run : comparison.only_b) text += run_fields(nullptr, run) + ",b,,,,\n";
  return text;
}

}  // namespace uvmsim::compare
