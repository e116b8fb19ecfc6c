// SPDX-License-Identifier: Apache-2.0
// The single checks. Each returns a line on what it did, or throws an exception whose text says what is wrong.
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

// The checks of a slot's policies, in order; those of whole programs, which are the same for all slots, follow.
std::span<const Check> checks_of(std::type_identity<policy::Prefetcher>);
std::span<const Check> checks_of(std::type_identity<policy::Evictor>);
std::span<const Check> checks_of(std::type_identity<policy::Planner>);
std::span<const Check> checks_of(std::type_identity<policy::Migrator>);
std::span<const Check> checks_of(std::type_identity<policy::Router>);
std::span<const Check> checks_of(std::type_identity<policy::Scheduler>);
std::span<const Check> checks_of(std::type_identity<policy::Batcher>);

// Calls `run` with the given parameters, then with each parameter and each pair of them at the ends of what they allow.
// Says how many; throws Wrong that names the parameter where `run` throws.
std::string try_parameters(const policy::PolicyEntry& entry, const CheckOptions& options,
                           const std::function<void(const policy::GivenParameters&)>& run);

// The same, where each is for one sequence of so many calls: run(entry, given, seed, sequence, calls).
template <auto run, int calls>
std::string check_parameters(const policy::PolicyEntry& entry, const CheckOptions& options) {
  return try_parameters(entry, options, [&](const policy::GivenParameters& given) {
    static_cast<void>(run(entry, given, options.seed, options.seed, calls));
  });
}

// The same, each on GPUs of these numbers of chunks: run(entry, given, seed, chunks, history, events).
template <auto run, const auto& sizes>
std::string check_parameters_by_size(const policy::PolicyEntry& entry, const CheckOptions& options) {
  const std::string tried = try_parameters(entry, options, [&](const policy::GivenParameters& given) {
    for (const std::uint32_t chunks : sizes) run(entry, given, options.seed, chunks, options.seed, 500);
  });
  return fmt::format("{}, each on GPUs of {} to {} chunks", tried, *std::begin(sizes), *std::rbegin(sizes));
}

// What two runs of the same calls answered. Throws Wrong where they differ: `text` with the place of the first
// difference and what else it names.
template <class Answer, class... Named>
void check_same(const std::vector<Answer>& first, const std::vector<Answer>& second, std::string_view text,
                const Named&... named) {
  if (first == second) return;
  const auto differs = std::mismatch(first.begin(), first.end(), second.begin(), second.end()).first;
  throw Wrong(fmt::format(fmt::runtime(text), differs - first.begin() + 1, named...));
}
inline constexpr std::string_view kAnotherAnswer =
    "answer {} on a GPU of {} chunks was another one when the same history ran again";

// Some program, for policies of class D4; the history that a check makes up is another one.
policy::Future random_future(std::uint64_t seed);

// Random programs on tiny GPUs through the whole simulator, each twice.
std::string check_programs(const policy::PolicyEntry& entry, const CheckOptions& options);

// Programs of many equal iterations: what is left out because it recurs (engine/recurrence.h) against a full replay.
std::string check_skipped_iterations(const policy::PolicyEntry& entry, const CheckOptions& options);

}  // namespace uvmsim::conformance
