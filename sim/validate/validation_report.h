// SPDX-License-Identifier: Apache-2.0
// A validation as text for people, Markdown for a README, and JSON for machines.
#pragma once

#include <string>
#include <vector>

#include "sim/validate/validation.h"

namespace uvmsim::validate {

inline constexpr const char* kValidationSchema = "uvmsim.validation/1";

// Formats every experiment on one line with the columns that fit a terminal (Markdown and JSON also have its class,
// transactions and quiet time), the summary by class, then the failed checks with reasons. Lines are at most 120
// columns wide, except for longer names.
std::string validation_text(const Validation& validation);

// Formats both tables in Markdown, rows with all columns and reasons.
std::string validation_markdown(const Validation& validation);

// Formats one object on one line, schema kValidationSchema (README.md lists its keys), with a final newline.
std::string validation_json(const Validation& validation);

// Formats a campaign in full, where the texts above have only a part: a title, a row per step, a line per published
// figure of the whole run, and the failed checks. No line is wider than 120 columns.
std::string campaign_text(const Comparison& comparison);
// Formats one row of Markdown for each campaign, with the head of the table; empty without any.
std::string campaigns_markdown(const std::vector<Comparison>& comparisons);

// Replaces the text between the lines "<!-- MARK:begin -->" and "<!-- MARK:end -->" of `document` by `table`; a
// document without them becomes the table alone. Throws InputError when only one of the two is present.
std::string with_table(const std::string& document, const std::string& table, const std::string& mark = "validate");

}  // namespace uvmsim::validate
