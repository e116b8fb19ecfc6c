// SPDX-License-Identifier: Apache-2.0
#include "sim/conformance/conformance.h"

#include "sim/conformance/checks.h"
#include "sim/conformance/isolated.h"
#include "sim/policy/policy_choices.h"

namespace uvmsim::conformance {
namespace {

using policy::GivenParameters;
using policy::Parameter;
using policy::ParameterType;

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
  std::vector<Check> checks;
  policy::Slots::for_each([&]<class Interface>() {
    if (policy::kSlotOf<Interface> != entry.slot) return;
    const std::span<const Check> of_slot = checks_of(std::type_identity<Interface>{});
    checks.assign(of_slot.begin(), of_slot.end());
  });
  if (std::ranges::count(kPolicySlots, entry.slot) != 0) {
    checks.push_back({"programs", check_programs});
    checks.push_back({"skipped iterations", check_skipped_iterations});
  }
  std::vector<Verdict> verdicts;
  for (const Check& check : checks) {
    const Outcome outcome = run_isolated([&] { return check.run(entry, options); }, options.limits);
    verdicts.push_back({check.name, outcome.passed, outcome.text});
  }
  return verdicts;
}

}  // namespace uvmsim::conformance
