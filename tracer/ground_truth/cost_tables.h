// SPDX-License-Identifier: Apache-2.0
// The costs of calls and copies on this machine: the table that configs/measurements/fit_links.py reads.
#pragma once

#include <cstdio>

#include "tracer/ground_truth/managed_budget.h"

namespace uvmtrace::ground_truth {

// Prints the tables; leaves out sizes beyond the budget. Needs an open device, and must run without CUPTI, which would
// change the times.
void print_cost_tables(std::FILE* out, ManagedBudget& budget);

}  // namespace uvmtrace::ground_truth
