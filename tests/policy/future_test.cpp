// SPDX-License-Identifier: Apache-2.0
// The future that oracles get: positions, next uses, ends of lives, and the program's present position.
#include "sim/policy/future.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "sim/common/random.h"
#include "sim/policy/registry.h"
#include "tests/policy/message_of.h"

namespace uvmsim::policy::future_test {
namespace {

constexpr ContentIndex kA{0}, kB{1}, kC{2};

// Operation 2 uses A B A; record 3 frees A's memory and allocates it again; operation 5 uses C A; operation 6 uses B.
Future example() {
  Future future;
  future.add_operation(2);
  for (const ContentIndex content : {kA, kB, kB, kA}) future.add_use(content);
  future.add_free(3, {kA});
  future.add_operation(5);
  future.add_use(kC);
  future.add_use(kA);
  future.add_operation(6);
  future.add_use(kB);
  future.finish();
  return future;
}

TEST(Future, NumbersUsesInOrder) {
  const Future future = example();
  ASSERT_EQ(future.end(), 7u);
  const ContentIndex order[] = {kA, kB, kA, Future::kNothing, kC, kA, kB};
  for (Future::Position i = 0; i < 7; ++i) EXPECT_EQ(future.at(i), order[i]) << i;
}

TEST(Future, FindsNextUsesWithinALife) {
  const Future future = example();
  EXPECT_EQ(future.next_use(kA, 0), 0u);
  EXPECT_EQ(future.next_use(kA, 1), 2u);
  EXPECT_EQ(future.next_use(kA, 3), Future::kNever) << "it is freed before";
  EXPECT_EQ(future.next_use(kA, 4), 5u) << "its next life";
  EXPECT_EQ(future.next_use(kA, 6), Future::kNever);
  EXPECT_EQ(future.next_use(kB, 2), 6u);
  EXPECT_EQ(future.next_use(ContentIndex(77), 0), Future::kNever);
}

TEST(Future, KnowsOperations) {
  const Future future = example();
  EXPECT_EQ(future.operation_begin(1), 0u);
  EXPECT_EQ(future.operation_end(1), 3u);
  EXPECT_EQ(future.operation_begin(5), 4u);
  EXPECT_EQ(future.operation_end(6), 7u);
  EXPECT_EQ(future.operation_contents(1), 2u) << "A twice, B";
}

TEST(Future, IsFollowed) {
  Future future = example();
  EXPECT_EQ(future.now(), 0u);
  future.arrive(kA);
  EXPECT_EQ(future.now(), 0u) << "no operation has begun";
  future.enter(2);
  future.arrive(kB);
  EXPECT_EQ(future.now(), 1u);
  future.arrive(kC);
  EXPECT_EQ(future.now(), 1u) << "not of this operation";
  future.arrive(kA);
  EXPECT_EQ(future.now(), 1u) << "as near behind as ahead: a straggler";
  future.pass(3);
  EXPECT_EQ(future.now(), 4u);
  future.enter(6);
  EXPECT_EQ(future.now(), 6u);
  future.enter(5);
  EXPECT_EQ(future.now(), 6u) << "time does not go back";
}

// A late access belongs to a position that has passed, not to one a whole round ahead.
TEST(Future, TakesTheNearestPlaceOfWhatArrives) {
  Future future;
  future.add_operation(1);
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t content = 0; content < 10; ++content) future.add_use(ContentIndex(content));
  }
  future.finish();
  future.enter(1);
  future.arrive(ContentIndex(6));
  EXPECT_EQ(future.now(), 6u);
  future.arrive(ContentIndex(4));
  EXPECT_EQ(future.now(), 6u) << "two behind, not eight ahead";
  future.arrive(ContentIndex(1));
  EXPECT_EQ(future.now(), 6u) << "five behind, five ahead";
}

// The reference is a search through all events.
TEST(Future, AgreesWithASearchOnRandomPrograms) {
  Random random(2);
  for (int round = 0; round < 200; ++round) {
    Future future;
    std::vector<std::vector<ContentIndex>> freed;  // by position; empty for a use
    std::uint64_t number = 0;
    for (int i = 0; i < 60; ++i) {
      ++number;
      if (random.below(4) == 0) {
        std::vector<ContentIndex> contents;
        for (std::uint64_t c = 0; c < 6; ++c) {
          if (random.below(3) == 0) contents.emplace_back(c);
        }
        future.add_free(number, contents);
        if (!contents.empty()) freed.push_back(contents);
      } else {
        future.add_operation(number);
        for (std::uint64_t uses = random.below(4); uses > 0; --uses) {
          const std::size_t before = static_cast<std::size_t>(future.end());
          future.add_use(ContentIndex(random.below(6)));
          if (future.end() != before) freed.push_back({});
        }
      }
    }
    future.finish();
    ASSERT_EQ(future.end(), freed.size());
    for (std::uint64_t c = 0; c < 7; ++c) {
      for (Future::Position from = 0; from <= future.end(); ++from) {
        Future::Position expected = Future::kNever;
        for (Future::Position p = from; p < future.end(); ++p) {
          const auto& gone = freed[static_cast<std::size_t>(p)];
          if (std::find(gone.begin(), gone.end(), ContentIndex(c)) != gone.end()) break;
          if (gone.empty() && future.at(p) == ContentIndex(c)) {
            expected = p;
            break;
          }
        }
        ASSERT_EQ(future.next_use(ContentIndex(c), from), expected) << c << " from " << from;
      }
    }
  }
}

// The types enforce this: a policy that takes a Future must be of class D4, and a policy of class D4 must take one.
template <InformationClass Class>
class Plain : public Evictor {
 public:
  static PolicyInfo info() { return {.description = "x", .source = "this test", .information = Class}; }
  static ParameterTable parameters() { return {}; }
  explicit Plain(const PolicyContext&) {}
  void on_migrated(ChunkId) override {}
  void on_released(ChunkId) override {}
  ChunkId select_victim(const EvictionQueries&) override { return {}; }
};
template <InformationClass Class>
class Knowing : public Plain<Class> {
 public:
  Knowing(const PolicyContext& context, const Future&) : Plain<Class>(context) {}
};

TEST(Future, IsForPoliciesOfClassD4Only) {
  Registry registry;
  add_policy<Plain<InformationClass::kD0>>(registry, "blind");
  add_policy<Knowing<InformationClass::kD4>>(registry, "oracle");
  EXPECT_EQ(message_of([&] { add_policy<Knowing<InformationClass::kD0>>(registry, "thief"); }),
            "evict policy 'thief' (built-in) takes a Future, but does not declare class D4; allowed: both or neither");
  EXPECT_EQ(
      message_of([&] { add_policy<Plain<InformationClass::kD4>>(registry, "boaster"); }),
      "evict policy 'boaster' (built-in) declares class D4, but its constructor takes no Future; allowed: both or "
      "neither");
  EXPECT_EQ(message_of([&] { registry.create<Evictor>("oracle", {}, 1, 4); }),
            "evict policy 'oracle' knows the future (class D4), which nobody can tell it here");
  const Future future = example();
  EXPECT_NE(registry.create<Evictor>("oracle", {}, 1, 4, &future), nullptr);
  EXPECT_NE(registry.create<Evictor>("blind", {}, 1, 4, &future), nullptr);
}

}  // namespace
}  // namespace uvmsim::policy::future_test
