// SPDX-License-Identifier: Apache-2.0
#include "sim/policy/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/common/error.h"
#include "sim/formats/did_you_mean.h"
#include "sim/policy/guarded.h"
#include "sim/policy/policy_choices.h"

namespace uvmsim::policy {
namespace {

// FNV-1a, 64 bit.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

std::string_view slot_name(Slot slot) { return slot_info(slot).name; }

std::string_view information_class_name(InformationClass information) {
  constexpr std::string_view kNames[] = {"D0", "D1", "D2", "D3", "D4"};
  return kNames[static_cast<unsigned>(information)];
}

std::string_view information_class_meaning(InformationClass information) {
  constexpr std::string_view kMeanings[] = {
      "faults and migrations: what today's driver sees", "also access-counter notifications",
      "also access bits: what a kernel touched", "also kernel boundaries and tensor hints", "also the future"};
  return kMeanings[static_cast<unsigned>(information)];
}

std::string PolicyEntry::label() const { return fmt::format("{} policy '{}'", slot_name(slot), info.name); }

std::string PolicyEntry::label_with_origin() const {
  return built_in() ? label() : fmt::format("{} ({})", label(), origin);
}

Parameters PolicyEntry::resolve(const GivenParameters& given) const { return Parameters(label(), parameters, given); }

std::uint64_t PolicyEntry::chunk_bytes(const GivenParameters& given) const {
  if (slot != Slot::kEvict) return kBlockBytes;
  switch (info.granularity) {
    case Granularity::kEither:
      return resolve(given).choice("granularity") == "64k" ? kBigPageBytes : kBlockBytes;
    case Granularity::kBigPage:
      return kBigPageBytes;
    case Granularity::kRootChunk:
      break;
  }
  return kBlockBytes;
}

PolicyEntry::AnyPolicy PolicyEntry::create_any(const GivenParameters& given, std::uint64_t seed,
                                               std::uint32_t chunk_count, const AnyFuture& future) const {
  const Parameters values = resolve(given);
  // One draw mixes the seed, so that neighbouring seeds give unrelated streams.
  const Random random(Random(seed).next() ^ hash_of(label()));
  const PolicyContext context{values, random, chunk_count, chunk_bytes(given)};
  if (wants_future && std::visit([](const auto* known) { return known == nullptr; }, future)) {
    throw_input_error("{} knows the future (class D4), which nobody can tell it here", label());
  }
  return std::visit(
      [&]<class Interface>(const Factory<Interface>& factory) -> AnyPolicy {
        const auto make = [&] { return factory(context, std::get<const FutureOf<Interface>*>(future)); };
        if (!from_plugin()) return make();
        // Calls of a plug-in's code, including this first one, are guarded.
        const std::string whose = label_with_origin();
        try {
          return guarded(guarded_call({whose.c_str(), "constructor"}, make), whose);
        } catch (const InputError& error) {  // parameters that contradict each other
          throw_input_error("{}: {}", whose, error.what());
        }
      },
      make);
}

void Registry::add(PolicyEntry entry) {
  if (entry.origin.empty()) entry.origin = origin_;
  if (entry.slots.empty()) entry.slots = {entry.slot};
  entry.is_drivers_own = entry.built_in() && entry.info.name == driver_choice(entry.slot).name;
  const std::string label = fmt::format("{} ({})", entry.label(), entry.origin);
  const bool known_class = entry.info.information <= InformationClass::kD4;
  if (entry.info.description.empty() || entry.info.source.empty() || !known_class) {
    throw_input_error("{} declares no {} in its info()", label,
                      !known_class                     ? "valid information class"
                      : entry.info.description.empty() ? "description"
                                                       : "source");
  }
  if (entry.info.decision_cost < Nanoseconds{}) {
    throw_input_error("{} declares a decision cost of {} ns; allowed: 0 or more", label,
                      entry.info.decision_cost.value);
  }
  if (entry.wants_future != (entry.info.information == InformationClass::kD4)) {
    throw_input_error("{} {}; allowed: both or neither", label,
                      entry.wants_future ? "takes a Future, but does not declare class D4"
                                         : "declares class D4, but its constructor takes no Future");
  }
  for (const ClassedHook& hook : entry.classed_hooks) {
    if (hook.least <= entry.info.information) continue;
    throw_input_error(
        "{} has {}(), which is called for class {} and up, and declares class {}; allowed: "
        "`.information = InformationClass::k{}` in its info(), or no {}()",
        label, hook.name, information_class_name(hook.least), information_class_name(entry.info.information),
        information_class_name(hook.least), hook.name);
  }
  check_parameter_table(label, entry.parameters);
  const std::pair key(entry.slot, entry.info.name);
  if (const auto other = entries_.find(key); other != entries_.end()) {
    throw_input_error("{} is already registered ({}); allowed: names unique within the slot", label,
                      other->second.origin);
  }
  entries_.emplace(key, std::move(entry));
}

const PolicyEntry& Registry::find(Slot slot, std::string_view name) const {
  const auto found = entries_.find(std::pair(slot, std::string(name)));
  if (found != entries_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [key, entry] : entries_) {
    if (key.first == slot) names.push_back(key.second);
  }
  throw_input_error("unknown {} policy '{}'{}", slot_name(slot), name, allowed_hint(name, names));
}

void Registry::add_or_replace(PolicyEntry entry) {
  const auto found = entries_.find(std::pair(entry.slot, entry.info.name));
  if (found == entries_.end() || found->second.origin != entry.origin) {
    add(std::move(entry));
    return;
  }
  Registry alone;  // checks the entry
  alone.add(entry);
  found->second = std::move(entry);
}

std::vector<const PolicyEntry*> Registry::list() const {
  std::vector<const PolicyEntry*> result;
  for (const auto& [key, entry] : entries_) result.push_back(&entry);
  return result;
}

const std::shared_ptr<const Registry>& built_ins() {
  static const std::shared_ptr<const Registry> registry = [] {
    auto policies = std::make_shared<Registry>();
    register_builtin_policies(*policies);
    return policies;
  }();
  return registry;
}

}  // namespace uvmsim::policy
