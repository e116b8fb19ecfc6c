// SPDX-License-Identifier: Apache-2.0
// Formats the line of a launch in the log.
#pragma once

#include "tracer/access/launches.h"
#include "tracer/log/json_line.h"

namespace uvmtrace::access {

// `accesses` null: the kernel ran without patches.
JsonLine launch_line(const LaunchFacts& facts, const LaunchAccesses* accesses, const Options& options);

}  // namespace uvmtrace::access
