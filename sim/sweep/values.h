// SPDX-License-Identifier: Apache-2.0
// Values of options: text to integers, without floating point. Each throws InputError naming the option, the text and
// what is allowed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/simulation.h"

namespace uvmsim::sweep {

// "1.25" -> 1250. Above 0, at most 1000000, at most three digits after the point.
std::uint64_t parse_osf(const std::string& option, const std::string& text);
// "1,1.25,2" -> {1000, 1250, 2000}; no factor twice.
std::vector<std::uint64_t> parse_osf_list(const std::string& option, const std::string& text);

// "12GiB", "1.5 GiB", "4096": bytes; KiB to TiB are powers of 1024, kB to TB powers of 1000. Whole bytes only.
std::uint64_t parse_size(const std::string& option, const std::string& text);

// Decimal digits only, up to 2^64 - 1.
std::uint64_t parse_unsigned(const std::string& option, const std::string& text);

// "10": at least 1, at most 1000000; not given: 0, as many as were recorded.
std::uint64_t parse_iterations(const std::string& option, const std::optional<std::string>& text);

// "auto": 0; "1.25": 1250000. A factor is above 0, at most 1000, with at most six digits after the point.
std::uint64_t parse_time_scale(const std::string& option, const std::string& text);

// Whether it is the touched one; "allocated" or "touched".
bool parse_footprint(const std::string& option, const std::string& text);

// "pytorch_caching:max_split_size_bytes=512MiB"; the name and all parameters are checked.
layout::LayoutChoice parse_layout(const std::string& option, const std::string& text);

// "tree:threshold=51,min_faults=1"
PolicyChoice parse_policy(const std::string& option, const std::string& text);

// One of the allowed words.
std::string parse_choice(const std::string& option, const std::string& text, const std::vector<std::string>& allowed);

}  // namespace uvmsim::sweep
