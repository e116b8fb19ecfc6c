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
                                    {"programs", check_programs},
                                    {"skipped iterations", check_skipped_iterations}};
constexpr Check kPrefetcherChecks[] = {{"parameters", check_prefetcher_parameters},
                                       {"random blocks", check_random_blocks},
                                       {"determinism", check_prefetcher_determinism},
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
                                     {"programs", check_programs},
                                     {"skipped iterations", check_skipped_iterations}};

constexpr Check kRouterChecks[] = {{"parameters", check_router_parameters},
                                   {"random moves", check_random_moves},
                                   {"determinism", check_router_determinism},
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
  }
  return {};
}

// Given parameters with one of them at an end of what it allows; the first element is the given ones as they are.
std::vector<GivenParameters> parameter_extremes(const policy::PolicyEntry& entry, const GivenParameters& given) {
  std::vector<GivenParameters> extremes = {given};
  for (const Parameter& parameter : entry.parameters) {
    for (const std::string& value : extreme_values(parameter)) {
      GivenParameters changed = given;
      std::erase_if(changed, [&](const auto& pair) { return pair.first == parameter.name; });
      changed.emplace_back(parameter.name, value);
      extremes.push_back(std::move(changed));
    }
  }
  return extremes;
}

// "threshold=100", for messages.
std::string describe(const GivenParameters& extreme, const GivenParameters& given) {
  return extreme == given ? "the given parameters" : fmt::format("{}={}", extreme.back().first, extreme.back().second);
}

}  // namespace

std::string try_parameters(const policy::PolicyEntry& entry, const CheckOptions& options,
                           const std::function<void(const GivenParameters&)>& run) {
  const auto extremes = parameter_extremes(entry, options.given);
  for (const GivenParameters& given : extremes) {
    try {
      run(given);
    } catch (const std::exception& error) {
      throw Wrong(fmt::format("with {}: {}", describe(given, options.given), error.what()));
    }
  }
  return fmt::format("defaults and {} other values", extremes.size() - 1);
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
    const Outcome outcome = run_isolated([&] { return check.run(entry, options); }, options.cpu_seconds);
    verdicts.push_back({check.name, outcome.passed, outcome.text});
  }
  return verdicts;
}

}  // namespace uvmsim::conformance
