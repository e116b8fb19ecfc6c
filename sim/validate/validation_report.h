// SPDX-License-Identifier: Apache-2.0
// A validation as text for people, Markdown for a README, and JSON for machines.
#pragma once

#include <string>

#include "sim/validate/validation.h"

namespace uvmsim::validate {

inline constexpr const char* kValidationSchema = "uvmsim.validation/1";

// Every experiment on one line with what a terminal has room for (Markdown and JSON have its class, transactions and
// quiet time), the summary by class, then what is outside and why. Lines are at most 120 columns wide, but for longer
// names.
std::string validation_text(const Validation& validation);

// Both tables in Markdown, rows with all columns and reasons.
std::string validation_markdown(const Validation& validation);

// One object on one line, schema kValidationSchema (README.md lists its keys), with a final newline.
std::string validation_json(const Validation& validation);

// Replaces what stands between the lines "<!-- MARK:begin -->" and "<!-- MARK:end -->" of `document` by `table`; a
// document without them becomes the table alone. Throws InputError when only one of the two is there.
std::string with_table(const std::string& document, const std::string& table, const std::string& mark = "validate");

}  // namespace uvmsim::validate
