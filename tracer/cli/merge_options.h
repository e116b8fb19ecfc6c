// SPDX-License-Identifier: Apache-2.0
// Options that `record` and `merge` share.
#pragma once

#include "tracer/cli/options.h"
#include "tracer/merge/merge.h"

namespace uvmtrace {

void add_merge_options(boost::program_options::options_description& options);
// Both throw uvmsim::InputError for values that will not do.
MergeOptions merge_options(const Options& options);
int compression_level(const Options& options);

}  // namespace uvmtrace
