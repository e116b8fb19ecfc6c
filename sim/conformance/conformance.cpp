// SPDX-License-Identifier: Apache-2.0
#include "sim/conformance/conformance.h"

#include <span>

#include "sim/conformance/checks.h"
#include "sim/conformance/isolated.h"

namespace uvmsim::conformance {
namespace {

using policy::GivenParameters;
using policy::Parameter;
using policy::ParameterType;

struct Check {
  const char* name;
  std::string (*run)(const policy::PolicyEntry&, const CheckOptions&);
};

constexpr Check kEvictorChecks[] = {{"parameters", check_evictor_parameters},
                                    {"tiny GPUs", check_tiny_gpus},
                                    {"determinism", check_evictor_determinism},
                                    {"state", check_evictor_state},
                                    {"programs", check_programs},
                                    {"skipped iterations", check_skipped_iterations}};
constexpr Check kPrefetcherChecks[] = {{"parameters", check_prefetcher_parameters},
                                       {"random blocks", check_random_blocks},
                                       {"determinism", check_prefetcher_determinism},
                                       {"state", check_prefetcher_state},
                                       {"programs", check_programs},
                                       {"skipped iterations", check_skipped_iterations}};
constexpr Check kPlannerChecks[] = {{"parameters", check_planner_parameters},
                                    {"tiny GPUs", check_tiny_machines},
                                    {"determinism", check_planner_determinism},
                                    {"programs", check_programs},
                                    {"skipped iterations", check_skipped_iterations}};

constexpr Check kMigratorChecks[] = {{"parameters", check_migrator_parameters},
                                     {"random blocks", check_random_faults},
                                     {"determinism", check_migrator_determinism},
                                     {"state", check_migrator_state},
                                     {"programs", check_programs},
                                     {"skipped iterations", check_skipped_iterations}};

constexpr Check kRouterChecks[] = {{"parameters", check_router_parameters},
                                   {"random moves", check_random_moves},
                                   {"determinism", check_router_determinism},
                                   {"state", check_router_state},
                                   {"programs", check_programs},
                                   {"skipped iterations", check_skipped_iterations}};

constexpr Check kSchedulerChecks[] = {{"parameters", check_scheduler_parameters},
                                      {"random turns", check_random_turns},
                                      {"determinism", check_scheduler_determinism}};

constexpr Check kBatchChecks[] = {{"parameters", check_batch_parameters},
                                  {"random batches", check_random_batches},
                                  {"determinism", check_batch_determinism},
                                  {"state", check_batch_state},
                                  {"programs", check_programs},
                                  {"skipped iterations", check_skipped_iterations}};

std::span<const Check> checks_of(policy::Slot slot) {
  switch (slot) {
    case policy::Slot::kPrefetch:
      return kPrefetcherChecks;
    case policy::Slot::kEvict:
      return kEvictorChecks;
    case policy::Slot::kPlan:
      return kPlannerChecks;
    case policy::Slot::kMigrate:
      return kMigratorChecks;
    case policy::Slot::kRoute:
      return kRouterChecks;
    case policy::Slot::kSchedule:
      return kSchedulerChecks;
    case policy::Slot::kBatch:
      return kBatchChecks;
  }
  return {};
}

std::vector<std::string> extreme_values(const Parameter& parameter) {
  switch (parameter.type) {
    case ParameterType::kInteger:
      return {fmt::format("{}", parameter.integer_range.minimum), fmt::format("{}", parameter.integer_range.maximum)};
    case ParameterType::kReal:
      return {fmt::format("{}", parameter.real_range.minimum), fmt::format("{}", parameter.real_range.maximum)};
    case ParameterType::kBoolean:
      return {"false", "true"};
    case ParameterType::kChoice:
      return parameter.choices;
    case ParameterType::kText:
      return {""};
    case ParameterType::kPath:
      return {};
  }
  return {};
}

GivenParameters with(GivenParameters given, const std::string& name, const std::string& value) {
  std::erase_if(given, [&](const auto& pair) { return pair.first == name; });
  given.emplace_back(name, value);
  return given;
}

struct Extreme {
  std::string changed;  // "threshold=100", "small=99, threshold=1": for messages
  GivenParameters parameters;
};

// The given parameters, then each one at the ends of what it allows, then each pair.
std::vector<Extreme> parameter_extremes(const policy::PolicyEntry& entry, const GivenParameters& given) {
  std::vector<Extreme> singles, pairs;
  for (auto one = entry.parameters.begin(); one != entry.parameters.end(); ++one) {
    for (const std::string& value : extreme_values(*one)) {
      singles.push_back({fmt::format("{}={}", one->name, value), with(given, one->name, value)});
      for (auto other = one + 1; other != entry.parameters.end(); ++other) {
        for (const std::string& of_other : extreme_values(*other)) {
          pairs.push_back({fmt::format("{}, {}={}", singles.back().changed, other->name, of_other),
                           with(singles.back().parameters, other->name, of_other)});
        }
      }
    }
  }
  std::vector<Extreme> all = {{"the given parameters", given}};
  all.insert(all.end(), singles.begin(), singles.end());
  all.insert(all.end(), pairs.begin(), pairs.end());
  return all;
}

}  // namespace

std::string try_parameters(const policy::PolicyEntry& entry, const CheckOptions& options,
                           const std::function<void(const GivenParameters&)>& run) {
  const auto extremes = parameter_extremes(entry, options.given);
  for (const Extreme& extreme : extremes) {
    try {
      run(extreme.parameters);
    } catch (const std::exception& error) {
      throw Wrong(fmt::format("with {}: {}", extreme.changed, error.what()));
    }
  }
  return fmt::format("defaults and {} other values and pairs of values", extremes.size() - 1);
}

policy::Future random_future(std::uint64_t seed) {
  Random random(seed);
  policy::Future future;
  for (std::uint64_t number = 1; number <= 64; ++number) {
    if (random.below(8) == 0) future.add_free(number, {policy::ContentIndex(random.below(64))});
    future.add_operation(number);
    for (std::uint64_t uses = random.below(12); uses > 0; --uses) {
      future.add_use(policy::ContentIndex(random.below(64)));
    }
  }
  future.finish();
  future.enter(1 + random.below(64));
  return future;
}

std::vector<Verdict> check_policy(const policy::PolicyEntry& entry, const CheckOptions& options) {
  static_cast<void>(entry.resolve(options.given));
  std::vector<Verdict> verdicts;
  for (const Check& check : checks_of(entry.slot)) {
    const Outcome outcome = run_isolated([&] { return check.run(entry, options); }, options.limits);
    verdicts.push_back({check.name, outcome.passed, outcome.text});
  }
  return verdicts;
}

}  // namespace uvmsim::conformance
