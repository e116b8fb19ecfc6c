// SPDX-License-Identifier: Apache-2.0
// One finished run as its result names it: what determined it, and every number that it found.
//
// Comparing needs no more than that, so the two sides may come from files, from databases, or from a run just made.
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
  // What determined the run. Keys that belong to another one start with its name and a dot: "prefetch" is the name of
  // the policy, "prefetch.threshold" one of its parameters, "system.costs.batch_ns" a number of the system. A trace is
  // its SHA-256.
  NamedTexts identity;
  std::string trace_name;  // file name, for people
  // What made it, which may change without asking for another run: version of uvmsim, plug-ins with their hashes.
  NamedTexts provenance;
  // Counters under their own names; `htod_bytes` and the like are sums over causes. The same of the settled iteration,
  // where the trace marks iterations, start with "settled_".
  Metrics metrics;
};

// The value under a name, or nullptr.
template <class Value>
const Value* find_named(const std::vector<std::pair<std::string, Value>>& all, std::string_view name) {
  const auto found = std::ranges::find_if(all, [&](const auto& one) { return one.first == name; });
  return found == all.end() ? nullptr : &found->second;
}

// The same, or `otherwise`.
template <class Value>
Value named_or(const std::vector<std::pair<std::string, Value>>& all, std::string_view name, Value otherwise) {
  const Value* const found = find_named(all, name);
  return found == nullptr ? std::move(otherwise) : *found;
}

// A text of `identity` for people: the name of the trace, "-" where there is none.
std::string shown_text(const RunView& run, std::string_view key);

// `key` is `other` or belongs to it, as "prefetch.threshold" to "prefetch".
bool belongs_to(std::string_view key, std::string_view other);

// One result, schema "uvmsim.result/2". Throws InputError that starts with `origin` when it is none.
RunView view_of_result(const nlohmann::ordered_json& result, const std::string& origin);

// shown_text() with what belongs to the key, as far as `wanted` accepts it: "tree:threshold=51,min_faults=1".
std::string full_text(const RunView& run, std::string_view key,
                      const std::function<bool(std::string_view inner)>& wanted);

// "gpt2.uvmt on h200-sxm-pcie5, layout recorded, osf 1.5, prefetch tree:threshold=51, seed 1" of the keys that `wanted`
// accepts, in the order of `identity`; empty when it accepts none.
std::string describe_run(const RunView& run, const std::function<bool(std::string_view key)>& wanted);

}  // namespace uvmsim::compare
