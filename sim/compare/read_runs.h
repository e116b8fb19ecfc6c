// SPDX-License-Identifier: Apache-2.0
// Reads the runs of one side from a file of results or from a sweep.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "sim/compare/run_view.h"

namespace uvmsim::compare {

struct RunSet {
  std::string name;  // the path, or "standard input"
  std::vector<RunView> runs;
  // Points of a sweep without a result, as "gpt2.uvmt ... OSF 2: failed: <error>" or "...: not run". A side with
  // missing points is never treated as complete.
  std::vector<std::string> missing;
};

// `path` is a file of JSON lines as `uvmsim run --json` writes it (plain or zstd-compressed, "-" = standard input), or
// the folder of a sweep, or a sweep's database. Throws InputError that names the file and the line or key, for a
// missing file, a file without results, and an invalid line.
RunSet read_runs(const std::string& path);

// Called with each result; `where` names it in messages. Results are only checked to be JSON; view_of_result() checks
// the rest.
using ResultVisitor = std::function<void(const nlohmann::ordered_json& result, const std::string& where)>;
// Returns a sweep's `missing`. Throws as read_runs().
std::vector<std::string> read_results(const std::string& path, const ResultVisitor& visit);

// Keeps the runs that meet "key=pattern" ("evict=lru", "trace=gpt2*"): a key of RunView::identity, and a text with *
// and ?. Throws InputError, beginning with `where`, when it is not a condition, no run has the key, or no run is left.
void keep_runs(RunSet& set, const std::string& condition, const std::string& where);

}  // namespace uvmsim::compare
