// SPDX-License-Identifier: Apache-2.0
#include "tracer/cli/merge_options.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "sim/common/error.h"

namespace uvmtrace {

using uvmsim::throw_input_error;
using uvmsim::cli::Values;

std::uint64_t number(const Values& values, const char* option, std::uint64_t otherwise, std::uint64_t min,
                     std::uint64_t max) {
  const auto text = values.text(option);
  if (!text) return otherwise;
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), out);
  if (error != std::errc() || end != text->data() + text->size() || out < min || out > max) {
    throw_input_error("--{}: '{}' is invalid; allowed: a number from {} to {}", option, *text, min, max);
  }
  return out;
}

std::string word(const Values& values, const char* option, std::initializer_list<const char*> words) {
  const std::string given = values.text(option).value_or(*words.begin());
  if (std::find(words.begin(), words.end(), given) == words.end()) {
    throw_input_error("--{}: '{}' is invalid; allowed: {}", option, given, fmt::join(words, ", "));
  }
  return given;
}

void add_merge_options(std::vector<uvmsim::cli::Option>& options) {
  options.insert(options.end(),
                 {{"as", "KIND",
                   "what device memory becomes: managed (default: how would it run under unified memory), or recorded"},
                  {"match", "PERMILLE", "share of launches that both passes must have, in thousandths; default 990"},
                  {"whole", "", "refuse passes that differ at first, instead of leaving that part out"},
                  {"provenance", "TEXT", "where the recording comes from, for the trace's header"},
                  kLevel});
}

MergeOptions merge_options(const Values& values) {
  MergeOptions out;
  out.as_managed = word(values, "as", {"managed", "recorded"}) == "managed";
  out.match_thousandths = static_cast<std::uint32_t>(number(values, "match", 990, 0, 1000));
  out.drop_prologue = !values.given("whole");
  out.provenance = values.text("provenance").value_or("");
  return out;
}

int compression_level(const Values& values) { return static_cast<int>(number(values, "level", 9, 1, 19)); }

}  // namespace uvmtrace
