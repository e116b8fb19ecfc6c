// SPDX-License-Identifier: Apache-2.0
// The runs of one side: from a file of results, or from a sweep.
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
  // Points of a sweep without a result, as "gpt2.uvmt ... OSF 2: failed: <error>" or "...: not run". A side that has
  // some is never taken for a whole one.
  std::vector<std::string> missing;
};

// `path` is a file of JSON lines as `uvmsim run --json` writes it (plain or zstd-compressed, "-" = standard input), or
// the folder of a sweep, or a sweep's database. Throws InputError that names the file and the line or key: not there,
// no results in it, a line that is no result.
RunSet read_runs(const std::string& path);

// The results themselves, one by one; `where` names each in messages. What they are is not checked beyond that they are
// JSON: view_of_result() does.
using ResultVisitor = std::function<void(const nlohmann::ordered_json& result, const std::string& where)>;
// Returns `missing` of a sweep. Throws as read_runs().
std::vector<std::string> read_results(const std::string& path, const ResultVisitor& visit);

// Leaves the runs that meet "key=pattern" ("evict=lru", "trace=gpt2*"): a key of RunView::identity, a text with * and
// ?. Throws InputError, beginning with `where`, when it is no condition, no run has the key, or none is left.
void keep_runs(RunSet& set, const std::string& condition, const std::string& where);

}  // namespace uvmsim::compare
