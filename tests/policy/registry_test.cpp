// SPDX-License-Identifier: Apache-2.0
#include "sim/policy/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/policy/cache_policy.h"
#include "sim/policy/policy_choices.h"
#include "tests/policy/message_of.h"

namespace uvmsim::policy {
namespace {

// Evicts a random chunk; records the contents of its context.
class Dice : public Evictor {
 public:
  static PolicyInfo info() { return {.description = "random", .source = "this test", .decision_cost = Nanoseconds(7)}; }
  static ParameterTable parameters() { return {integer("sides", 6, {1, 20}, "faces of the die")}; }
  explicit Dice(const PolicyContext& context) : random_(context.random), chunk_count_(context.chunk_count) {}
  void on_migrated(ChunkId) override {}
  void on_released(ChunkId) override {}
  ChunkId select_victim(const EvictionQueries&) override {
    return ChunkId{static_cast<std::uint32_t>(random_.below(chunk_count_))};
  }

 private:
  Random random_;
  std::uint32_t chunk_count_;
};

struct Nobody final : EvictionQueries {
  bool evictable(ChunkId) const override { return true; }
  ChunkView view(ChunkId) const override { return {}; }
  Nanoseconds now() const override { return {}; }
  ContentIndex incoming() const override { return {}; }
  std::uint32_t free_chunks() const override { return 0; }
};

std::vector<std::uint32_t> throws_of(Evictor& dice) {
  std::vector<std::uint32_t> values;
  for (int i = 0; i < 8; ++i) values.push_back(dice.select_victim(Nobody()).value);
  return values;
}

TEST(Registry, HasTheBuiltInsBySlotAndName) {
  std::vector<std::string> labels;
  for (const PolicyEntry* entry : built_ins()->list()) {
    EXPECT_EQ(entry->origin, kBuiltIn);
    labels.push_back(entry->label());
  }
  for (const char* expected : {"evict policy 'lrm'", "evict policy 'lru'", "migrate policy 'first_touch'",
                               "plan policy 'deepum'", "plan policy 'deepum_ideal'", "plan policy 'none'",
                               "prefetch policy 'none'", "prefetch policy 'sequential'", "prefetch policy 'tree'",
                               "route policy 'direct'", "route policy 'multipath'", "schedule policy 'round_robin'"}) {
    EXPECT_EQ(std::count(labels.begin(), labels.end(), expected), 1) << expected;
  }
  EXPECT_EQ(built_ins()->find(Slot::kEvict, "lru").info.information, InformationClass::kD2);
  EXPECT_EQ(built_ins()->find(Slot::kPrefetch, "tree").info.information, InformationClass::kD0);
}

TEST(Registry, BuildsEveryBuiltInFromItsDefaults) {
  const Future nothing;
  const KernelFuture no_kernels;
  for (const PolicyEntry* entry : built_ins()->list()) {
    Slots::for_each([&]<class Interface>() {
      if (entry->slot != kSlotOf<Interface>) return;
      const FutureOf<Interface>* future = nullptr;
      if constexpr (std::is_same_v<Interface, Planner>) {
        future = &no_kernels;
      } else {
        future = &nothing;
      }
      EXPECT_NE(built_ins()->create<Interface>(entry->info.name, {}, 1, 4, future), nullptr) << entry->label();
    });
  }
}

TEST(Registry, EverySlotHasOnePolicyThatIsTheDriversOwn) {
  for (const SlotInfo& info : slot_infos()) {
    const PolicyChoice driver = PolicyChoices{}.*info.choice;
    std::vector<std::string> own;
    for (const PolicyEntry* entry : built_ins()->list()) {
      if (slot_name(entry->slot) == info.name && entry->is_drivers_own) own.push_back(entry->info.name);
    }
    EXPECT_EQ(own, std::vector{driver.name}) << info.name;
  }
  Registry of_plugins("./mine.so");
  PolicyEntry entry = built_ins()->find(Slot::kPlan, "none");
  entry.origin.clear();
  of_plugins.add(entry);
  EXPECT_FALSE(of_plugins.find(Slot::kPlan, "none").is_drivers_own) << "whatever it calls itself";
}

TEST(Registry, RefusesUnknownNames) {
  EXPECT_THAT(message_of([] { built_ins()->create<Evictor>("lrn", {}, 1, 4); }),
              ::testing::StartsWith("unknown evict policy 'lrn' (did you mean 'lrm'?); allowed: 2q, arc, clock, "));
  EXPECT_THAT(message_of([] { built_ins()->create<Prefetcher>("lrm", {}, 1, 4); }),
              ::testing::StartsWith("unknown prefetch policy 'lrm'; allowed: always_2mb, best_offset, "));
  EXPECT_THAT(message_of([] {
                built_ins()->create<Prefetcher>("tree", {{"treshold", "2"}}, 1, 4);
              }),
              ::testing::StartsWith("prefetch policy 'tree': unknown parameter 'treshold'"));
}

TEST(Registry, RefusesASecondPolicyOfAName) {
  Registry registry;
  add_policy<Dice>(registry, "dice");
  EXPECT_EQ(message_of([&] { add_policy<Dice>(registry, "dice"); }),
            "evict policy 'dice' (built-in) is already registered (built-in); allowed: names unique within the slot");
  add_policy<Dice>(registry, "other_dice");
  EXPECT_EQ(registry.list().size(), 2u);
}

TEST(Registry, ReplacesAPolicyOfTheSameOriginWhereAsked) {
  Registry registry("notebook");
  add_policy<Dice>(registry, "dice");
  const PolicyEntry& held = registry.find(Slot::kEvict, "dice");
  PolicyEntry entry = held;
  entry.info.description = "another";
  registry.add_or_replace(entry);
  EXPECT_EQ(registry.list().size(), 1u);
  EXPECT_EQ(held.info.description, "another") << "entries stay where they are";
  entry.info.description = "";
  EXPECT_THAT(message_of([&] { registry.add_or_replace(entry); }), ::testing::HasSubstr("no description"));
  EXPECT_EQ(held.info.description, "another");
  entry = held;
  entry.origin = "elsewhere";
  EXPECT_THAT(message_of([&] { registry.add_or_replace(entry); }),
              ::testing::HasSubstr("already registered (notebook)"));
}

TEST(Registry, RefusesIncompleteDeclarations) {
  Registry registry;
  add_policy<Dice>(registry, "dice");
  PolicyEntry entry = *registry.list().front();
  entry.info.name = "quiet";
  entry.info.description = "";
  EXPECT_EQ(message_of([&] { registry.add(entry); }),
            "evict policy 'quiet' (built-in) declares no description in its info()");
  entry.info.description = "x";
  entry.info.source = "";
  EXPECT_THROW(registry.add(entry), InputError);
  entry.info.source = "x";
  entry.info.decision_cost = Nanoseconds(-1);
  EXPECT_THROW(registry.add(entry), InputError);
  entry.info.decision_cost = Nanoseconds(0);
  entry.parameters = {integer("a", 3, {0, 2}, "x")};
  EXPECT_THROW(registry.add(entry), InputError);
}

TEST(Registry, RandomNumbersFollowFromSeedAndName) {
  Registry registry;
  add_policy<Dice>(registry, "dice");
  add_policy<Dice>(registry, "other_dice");
  const auto rolled = [&](const char* name, std::uint64_t seed) {
    return throws_of(*registry.create<Evictor>(name, {}, seed, 1000000));
  };
  EXPECT_EQ(rolled("dice", 1), rolled("dice", 1));
  EXPECT_NE(rolled("dice", 1), rolled("dice", 2));
  EXPECT_NE(rolled("dice", 1), rolled("other_dice", 1));
  EXPECT_EQ(registry.find(Slot::kEvict, "dice").info.decision_cost, Nanoseconds(7));
}

// A hook that is never called is a mistake: each of these policies declares class D0.
class Touched : public Dice {
 public:
  using Dice::Dice;
  void on_touched(ChunkId) override {}
};
class Hears : public CachePolicy {
 public:
  static PolicyInfo info() { return {.description = "a cache", .source = "this test"}; }
  static ParameterTable parameters() { return {}; }
  explicit Hears(const PolicyContext& context) : CachePolicy(context) {}

 private:
  void insert(ChunkId) override {}
  void remove(ChunkId) override {}
  ChunkId replace(const EvictionQueries&) override { return {}; }
};
class HitInPrivate final : public Hears {
 public:
  using Hears::Hears;

 private:
  void hit(ChunkId) override {}
};
class Starts final : public Planner {
 public:
  static PolicyInfo info() { return {.description = "a plan", .source = "this test"}; }
  static ParameterTable parameters() { return {}; }
  explicit Starts(const PolicyContext&) {}
  void on_begin(const KernelLaunch&) override {}
  PlanCommand next(const PlanQueries&) override { return {}; }
};

template <class Policy>
std::string refusal_of() {
  return message_of([] {
    Registry registry;
    add_policy<Policy>(registry, "deaf");
  });
}

TEST(Registry, RefusesHooksAboveTheDeclaredClass) {
  EXPECT_EQ(refusal_of<Touched>(),
            "evict policy 'deaf' (built-in) has on_touched(), which is called for class D2 and up, and declares class "
            "D0; allowed: `.information = InformationClass::kD2` in its info(), or no on_touched()");
  EXPECT_THAT(refusal_of<HitInPrivate>(), ::testing::HasSubstr("has hit(), which is called for class D2 and up"));
  EXPECT_THAT(refusal_of<Starts>(), ::testing::HasSubstr("has on_begin(), which is called for class D3 and up"));
  Registry registry;
  add_policy<Hears>(registry, "hears");  // the inherited on_touched() of the base class does not count
  EXPECT_NO_THROW(registry.find(Slot::kEvict, "hears"));
}

}  // namespace
}  // namespace uvmsim::policy
