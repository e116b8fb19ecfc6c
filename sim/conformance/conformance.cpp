// SPDX-License-Identifier: Apache-2.0
#include "sim/conformance/conformance.h"

#include <memory>

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

// The given parameters, then each one at the ends of its range, then each pair.
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

// Moves later allocations to other addresses, which depend on `layout` also in the lowest bits above the alignment. The
// memory is never freed.
void move_heap(unsigned layout) {
  static std::vector<std::unique_ptr<char[]>> kept;
  for (std::size_t bytes = 16; bytes <= 4096; bytes += 16) {
    for (unsigned i = 0; i < 16 * layout + bytes / 16 % (layout + 1); ++i) {
      kept.push_back(std::make_unique<char[]>(bytes));
    }
  }
}

// Checks that answers do not depend on addresses: the same programs run in processes that differ in the addresses of
// all allocations. Within one process a policy may well have the same address each time.
Outcome check_addresses(const policy::PolicyEntry& entry, const CheckOptions& options) {
  constexpr unsigned kLayouts = 8;
  CheckOptions few = options;
  few.programs = std::max<std::uint64_t>(options.programs / 8, 1);
  std::string first;
  for (unsigned layout = 0; layout < kLayouts; ++layout) {
    const Outcome outcome = run_isolated(
        [&] {
          move_heap(layout);
          return results_of_programs(entry, few);
        },
        options.limits);
    if (!outcome.passed) return outcome;
    if (layout == 0) first = outcome.text;
    if (outcome.text == first) continue;
    return {
        false,
        "the same programs had another result in a process with other addresses: its answers follow from where "
        "something lies in memory (its own address, pointers as keys or in a sort), or from memory that it never set"};
  }
  return {true, fmt::format("{} random programs, each in {} processes with other addresses", few.programs, kLayouts)};
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
  bool endless = false;
  const auto add = [&](const char* name, auto&& run) {
    if (endless) {  // the next one would take as long again
      verdicts.push_back({name, false, "not run: the policy does not return"});
      return;
    }
    const Outcome outcome = run();
    endless = outcome.endless;
    verdicts.push_back({name, outcome.passed, outcome.text});
  };
  for (const Check& check : checks) {
    add(check.name, [&] { return run_isolated([&] { return check.run(entry, options); }, options.limits); });
  }
  if (std::ranges::count(kPolicySlots, entry.slot) != 0) {
    add("addresses", [&] { return check_addresses(entry, options); });
  }
  return verdicts;
}

}  // namespace uvmsim::conformance
