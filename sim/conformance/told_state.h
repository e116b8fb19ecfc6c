// SPDX-License-Identifier: Apache-2.0
// Does add_state tell all? A policy lives through many short histories; two that end in states of one digest must
// answer whatever comes next alike.
//
// Whole programs rarely come to one state in two ways. Here little is there (a few chunks or blocks, few kinds of
// calls), so that histories often end where others did, while what the policy forgot to tell differs.
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

// One policy and the little machine around it.
class Life {
 public:
  struct Answer {
    const char* hook;
    std::uint64_t value;  // what was answered, or a digest of it
    bool operator==(const Answer&) const = default;
  };

  virtual ~Life() = default;
  // What happens next, until the next call. Two lives in one state, given the same seed, are told and asked the same as
  // long as they answer alike.
  void draw_from(std::uint64_t seed) { random_ = Random(seed); }
  // One thing happens.
  virtual void step() = 0;
  // The history ends: nothing is under way. Part of the machine may be cleared, so that lives meet again.
  virtual void settle() {}
  virtual Nanoseconds now() const = 0;
  // Of the policy, and of all that the simulator knows of what surrounds it.
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

// What a policy hears beside the calls of its slot (policy/features.h), drawn at random.
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
  // Calls of class `least` and up are for it.
  bool is_told(policy::InformationClass least) const { return information_ >= least; }
  // Of the policy; also of what the same object fills beside the slot, where it fills several: nothing calls that here.
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

// `future`: of a policy of class D4.
using Birth = std::function<std::unique_ptr<Life>(const policy::GivenParameters& given, const policy::Future& future,
                                                  std::uint64_t variant)>;

// With the given parameters and with each, and each pair, at the ends of what they allow. `variants`: of the machine;
// lives are compared within one.
std::string check_told_state(const policy::PolicyEntry& entry, const CheckOptions& options, std::uint64_t variants,
                             const Birth& birth);
// On one machine, where a life needs no more than the policy.
template <class PolicyLife, std::uint32_t chunks>
std::string check_told_state_of(const policy::PolicyEntry& entry, const CheckOptions& options) {
  return check_told_state(entry, options, 1, [&](const auto& given, const auto& future, std::uint64_t) {
    return std::make_unique<PolicyLife>(entry.create<typename PolicyLife::Policy>(given, options.seed, chunks, &future),
                                        entry.info.information);
  });
}

}  // namespace uvmsim::conformance
