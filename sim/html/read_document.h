// SPDX-License-Identifier: Apache-2.0
// The inputs of a page: files of results, sweeps, profiles, a league.
#pragma once

#include <string>
#include <vector>

#include "sim/html/document.h"

namespace uvmsim::html {

// Each path is a file of `uvmsim run --json` or `--profile`, the folder of a sweep or a league, a sweep's database or
// league.json. A sweep with missing points is refused unless `allow_partial`; a league says itself what it lacks.
// Throws InputError that names the file, for one that is none of these, too many profiles, and two leagues.
Document read_document(const std::vector<std::string>& paths, bool allow_partial);

}  // namespace uvmsim::html
