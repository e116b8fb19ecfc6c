// SPDX-License-Identifier: Apache-2.0
// Values of options are read as those of sweep files are.
#pragma once

#include "sim/sweep/values.h"

namespace uvmsim::cli {

using sweep::parse_choice;
using sweep::parse_footprint;
using sweep::parse_iterations;
using sweep::parse_layout;
using sweep::parse_osf;
using sweep::parse_osf_list;
using sweep::parse_policy;
using sweep::parse_size;
using sweep::parse_time_scale;
using sweep::parse_unsigned;

}  // namespace uvmsim::cli
