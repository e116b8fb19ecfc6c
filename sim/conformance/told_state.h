// SPDX-License-Identifier: Apache-2.0
// Checks that add_state() covers the whole state: a policy runs through many short histories, and any two that end with
// the same digest must answer alike from then on.
//
// Whole programs rarely reach one state in two ways. Here the world is small (a few chunks or blocks, few kinds of
// calls), so that histories often end in the same state, while state that the policy omits from its digest differs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/common/random.h"
#include "sim/common/state_digest.h"
#include "sim/conformance/checks.h"
#include "sim/memory/page_mask.h"
#include "sim/policy/features.h"
#include "sim/policy/guarded.h"

namespace uvmsim::conformance {

// One policy and the small machine around it.
class Life {
 public:
  struct Answer {
    const char* hook;
    std::uint64_t value;  // the answer, or a digest of it
    bool operator==(const Answer&) const = default;
  };

  virtual ~Life() = default;
  // Sets the random numbers of the coming events. Two lives in one state that get the same seed receive the same calls
  // as long as they answer alike.
  void draw_from(std::uint64_t seed) { random_ = Random(seed); }
  // Lets one event happen.
  virtual void step() = 0;
  // Ends the history: nothing is in progress. Part of the machine may be cleared, so that lives meet again.
  virtual void settle() {}
  virtual Nanoseconds now() const = 0;
  // Adds the state of the policy, and everything that the simulator knows of its surroundings.
  virtual void add_state(StateDigest& digest) const = 0;

  const std::vector<Answer>& answers() const { return answers_; }
  void forget_answers() { answers_.clear(); }

 protected:
  void answered(const char* hook, std::uint64_t value) { answers_.push_back({hook, value}); }
  void answered(const char* hook, const PageMask& pages) {
    StateDigest digest(Nanoseconds{});
    add_mask(digest, pages);
    answered(hook, digest.value()->high);
  }
  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  bool one_in(std::uint64_t bound) { return random_.below(bound) == 0; }

  Random random_{0};

 private:
  std::vector<Answer> answers_;
};

// The calls of policy/features.h, drawn at random.
class Listening {
 public:
  // `listener` may be null.
  Listening(std::shared_ptr<policy::FeatureListener> listener, policy::InformationClass information)
      : listener_(std::move(listener)), information_(information) {}
  void kernel(Random& random, Nanoseconds now);
  void faults(std::uint32_t process, Nanoseconds now, std::span<const policy::FaultRecord> faults);
  void used(BlockIndex block, const PageMask& pages);
  void wasted(BlockIndex block, const PageMask& pages);
  void add_state(StateDigest& digest) const { digest.add(layer_); }

 private:
  bool hears(policy::InformationClass wanted) const { return listener_ != nullptr && information_ >= wanted; }
  std::shared_ptr<policy::FeatureListener> listener_;
  policy::InformationClass information_;
  std::uint64_t layer_ = 0;
};

// The life of a policy of one slot.
template <class Interface>
class LifeOf : public Life {
 public:
  using Policy = Interface;
  LifeOf(std::shared_ptr<Interface> policy, policy::InformationClass information)
      : policy_(std::move(policy)),
        listening_(policy::part_of<policy::FeatureListener>(policy_), information),
        information_(information) {}

 protected:
  // Returns whether the policy gets calls of class `least` and up.
  bool is_told(policy::InformationClass least) const { return information_ >= least; }
  // Adds the policy's state in all slots that the same object fills; the others are never called here.
  template <class... Names>
  void add_policy_state(StateDigest& digest, const Names&... names) const {
    listening_.add_state(digest);
    policy_->add_state(digest, names...);
    policy::Slots::for_each([&]<class Part>() {
      const std::shared_ptr<Part> part = policy::part_of<Part>(policy_);
      if (part == nullptr || std::is_same_v<Part, Interface>) return;
      if constexpr (std::is_same_v<Part, policy::Evictor>) {
        part->add_state(digest, {});
      } else if constexpr (requires { part->add_state(digest); }) {
        part->add_state(digest);
      }
    });
  }

  std::shared_ptr<Interface> policy_;
  Listening listening_;

 private:
  policy::InformationClass information_;
};

// `future` is for a policy of class D4.
using Birth = std::function<std::unique_ptr<Life>(const policy::GivenParameters& given, const policy::Future& future,
                                                  std::uint64_t variant)>;

// Checks with the given parameters and with each parameter, and each pair, at the ends of their ranges. `variants` is
// the number of machines; lives are compared on the same machine.
std::string check_told_state(const policy::PolicyEntry& entry, const CheckOptions& options, std::uint64_t variants,
                             const Birth& birth);
// Checks on one machine, for a life that needs only the policy.
template <class PolicyLife, std::uint32_t chunks>
std::string check_told_state_of(const policy::PolicyEntry& entry, const CheckOptions& options) {
  return check_told_state(entry, options, 1, [&](const auto& given, const auto& future, std::uint64_t) {
    return std::make_unique<PolicyLife>(entry.create<typename PolicyLife::Policy>(given, options.seed, chunks, &future),
                                        entry.info.information);
  });
}

}  // namespace uvmsim::conformance
