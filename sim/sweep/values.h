// SPDX-License-Identifier: Apache-2.0
// Parses values of options: text to integers, without floating point. Each function throws InputError naming the
// option, the text and the allowed values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/simulation.h"
#include "sim/sweep/point.h"

namespace uvmsim::sweep {

// "1.25" -> 1250. Above 0, at most 1000000, at most three digits after the point.
std::uint64_t parse_osf(const std::string& option, const std::string& text);
// "1,1.25,2" -> {1000, 1250, 2000}; no factor twice.
std::vector<std::uint64_t> parse_osf_list(const std::string& option, const std::string& text);

// "12GiB", "1.5 GiB", "4096": bytes; KiB to TiB are powers of 1024, kB to TB powers of 1000. Whole bytes only.
std::uint64_t parse_size(const std::string& option, const std::string& text);

// Decimal digits only, up to 2^64 - 1.
std::uint64_t parse_unsigned(const std::string& option, const std::string& text);

// "10": at least 1, at most 1000000.
std::uint64_t parse_iteration_count(const std::string& option, const std::string& text);
// Parses "10", "recorded" or "settled" into a point; without a text, "settled".
void parse_iterations(const std::string& option, const std::optional<std::string>& text, Point& point);

// "auto": 0; "1.25": 1250000. A factor is above 0, at most 1000, with at most six digits after the point.
std::uint64_t parse_time_scale(const std::string& option, const std::string& text);

// Parses "allocated" or "touched"; returns whether it is "touched".
bool parse_footprint(const std::string& option, const std::string& text);

// "pytorch_caching:max_split_size_bytes=512MiB"; the name and all parameters are checked.
layout::LayoutChoice parse_layout(const std::string& option, const std::string& text);

// Parses a text such as "tree:threshold=51,min_faults=1".
PolicyChoice parse_policy(const std::string& option, const std::string& text);

// Returns the text if it is one of the allowed words.
std::string parse_choice(const std::string& option, const std::string& text, const std::vector<std::string>& allowed);

}  // namespace uvmsim::sweep
