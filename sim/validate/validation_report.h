// SPDX-License-Identifier: Apache-2.0
// A validation as text for people, Markdown for a README, and JSON for machines.
#pragma once

#include <string>
#include <vector>

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

// A campaign, of which the texts above have a part: a title, a row per step, a line per published figure of the whole
// run, and what is outside. No line is wider than 120 columns.
std::string campaign_text(const Comparison& comparison);
// One row of Markdown for each campaign, with the head of the table; empty without any.
std::string campaigns_markdown(const std::vector<Comparison>& comparisons);

// Replaces what stands between the lines "<!-- MARK:begin -->" and "<!-- MARK:end -->" of `document` by `table`; a
// document without them becomes the table alone. Throws InputError when only one of the two is there.
std::string with_table(const std::string& document, const std::string& table, const std::string& mark = "validate");

}  // namespace uvmsim::validate
