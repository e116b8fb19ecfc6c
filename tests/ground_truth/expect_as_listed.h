// SPDX-License-Identifier: Apache-2.0
// Compares a validation with the list of known differences, and its table with the one in README.md.
#pragma once

#include <string>

#include "sim/validate/validation.h"

namespace uvmsim::ground_truth {

// Names in the list are "<experiment>" and "class <class>".
void expect_as_listed(const validate::Validation& validation);

// Expects that README.md has this table between the lines of `mark` (validation_report.h). With
// UVMSIM_UPDATE_GROUND_TRUTH in the environment, writes it there.
void expect_table_in_readme(const std::string& table, const std::string& mark);

}  // namespace uvmsim::ground_truth
