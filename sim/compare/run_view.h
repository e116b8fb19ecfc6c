// SPDX-License-Identifier: Apache-2.0
// One finished run as its result describes it: its determinants and all its metrics.
//
// Comparing needs only this, so that the two sides may come from files, from databases, or from a run just made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace uvmsim::compare {

// Key and text, each key once.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;
// Name and value, each name once.
using Metrics = std::vector<std::pair<std::string, std::uint64_t>>;

struct RunView {
  std::string origin;  // "before.jsonl: line 2", for messages
  // The determinants of the run. Keys that belong to another one start with its name and a dot: "prefetch" is the name
  // of the policy, "prefetch.threshold" one of its parameters, "system.costs.batch_ns" a number of the system. A trace
  // is represented by its SHA-256.
  NamedTexts identity;
  std::string trace_name;  // file name, for people
  // The origin, which may change without making it another run: version of uvmsim, plug-ins with their hashes.
  NamedTexts provenance;
  // Counters under their own names; `htod_bytes` and the like are sums over causes. If the trace marks iterations, the
  // metrics of the settled iteration start with "settled_".
  Metrics metrics;
};

// Returns the value under a name, or nullptr.
template <class Value>
const Value* find_named(const std::vector<std::pair<std::string, Value>>& all, std::string_view name) {
  const auto found = std::ranges::find_if(all, [&](const auto& one) { return one.first == name; });
  return found == all.end() ? nullptr : &found->second;
}

// Returns the value under a name, or `otherwise`.
template <class Value>
Value named_or(const std::vector<std::pair<std::string, Value>>& all, std::string_view name, Value otherwise) {
  const Value* const found = find_named(all, name);
  return found == nullptr ? std::move(otherwise) : *found;
}

// Returns a text of `identity` for people: the name of the trace, "-" where there is none.
std::string shown_text(const RunView& run, std::string_view key);

// Returns whether `key` is `other` or belongs to it, as "prefetch.threshold" to "prefetch".
bool belongs_to(std::string_view key, std::string_view other);

// Reads one result, schema "uvmsim.result/3". Throws InputError that starts with `origin` when it is not one.
RunView view_of_result(const nlohmann::ordered_json& result, const std::string& origin);

// Returns shown_text() with the keys that belong to it and that `wanted` accepts: "tree:threshold=51,min_faults=1".
std::string full_text(const RunView& run, std::string_view key,
                      const std::function<bool(std::string_view inner)>& wanted);

// Describes the keys that `wanted` accepts, in the order of `identity`: "gpt2.uvmt on h200-sxm-pcie5, layout recorded,
// osf 1.5, prefetch tree:threshold=51, seed 1"; empty when it accepts none.
std::string describe_run(const RunView& run, const std::function<bool(std::string_view key)>& wanted);

}  // namespace uvmsim::compare
