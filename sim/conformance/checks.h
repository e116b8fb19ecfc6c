// SPDX-License-Identifier: Apache-2.0
// The single checks. Each returns a line about its work, or throws an exception whose text describes the violation.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "sim/conformance/conformance.h"

namespace uvmsim::conformance {

class Wrong : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Check {
  const char* name;
  std::string (*run)(const policy::PolicyEntry& entry, const CheckOptions& options);
};

// The checks of a slot's policies, in order. The checks of whole programs, which are the same for all slots, follow.
std::span<const Check> checks_of(std::type_identity<policy::Prefetcher>);
std::span<const Check> checks_of(std::type_identity<policy::Evictor>);
std::span<const Check> checks_of(std::type_identity<policy::Planner>);
std::span<const Check> checks_of(std::type_identity<policy::Migrator>);
std::span<const Check> checks_of(std::type_identity<policy::Router>);
std::span<const Check> checks_of(std::type_identity<policy::Scheduler>);
std::span<const Check> checks_of(std::type_identity<policy::Batcher>);

// Calls `run` with the given parameters, then with each parameter and each pair of parameters at the ends of their
// ranges. Returns the number as a text; throws Wrong that names the parameter where `run` throws.
std::string try_parameters(const policy::PolicyEntry& entry, const CheckOptions& options,
                           const std::function<void(const policy::GivenParameters&)>& run);

// Does the same with one sequence of `calls` calls each: run(entry, given, seed, sequence, calls).
template <auto run, int calls>
std::string check_parameters(const policy::PolicyEntry& entry, const CheckOptions& options) {
  return try_parameters(entry, options, [&](const policy::GivenParameters& given) {
    static_cast<void>(run(entry, given, options.seed, options.seed, calls));
  });
}

// Does the same on GPUs of each of these numbers of chunks: run(entry, given, seed, chunks, history, events).
template <auto run, const auto& sizes>
std::string check_parameters_by_size(const policy::PolicyEntry& entry, const CheckOptions& options) {
  const std::string tried = try_parameters(entry, options, [&](const policy::GivenParameters& given) {
    for (const std::uint32_t chunks : sizes) run(entry, given, options.seed, chunks, options.seed, 500);
  });
  return fmt::format("{}, each on GPUs of {} to {} chunks", tried, *std::begin(sizes), *std::rbegin(sizes));
}

// Compares the answers of two runs of the same calls. Throws Wrong where they differ: `text` with the place of the
// first difference and the other named values.
template <class Answer, class... Named>
void check_same(const std::vector<Answer>& first, const std::vector<Answer>& second, std::string_view text,
                const Named&... named) {
  if (first == second) return;
  const auto differs = std::mismatch(first.begin(), first.end(), second.begin(), second.end()).first;
  throw Wrong(fmt::format(fmt::runtime(text), differs - first.begin() + 1, named...));
}
inline constexpr std::string_view kAnotherAnswer =
    "answer {} on a GPU with {} x 2 MB was another one when the same history ran again";

// Returns the future of a random program, for policies of class D4; it differs from the history of the check.
policy::Future random_future(std::uint64_t seed);

// Runs random programs on tiny GPUs through the whole simulator, each twice.
std::string check_programs(const policy::PolicyEntry& entry, const CheckOptions& options);

// Returns the results of the first `options.programs` of them as a text.
std::string results_of_programs(const policy::PolicyEntry& entry, const CheckOptions& options);

// Runs programs of many equal iterations, and compares a run that skips recurring iterations (engine/recurrence.h) with
// a full replay.
std::string check_skipped_iterations(const policy::PolicyEntry& entry, const CheckOptions& options);

}  // namespace uvmsim::conformance
