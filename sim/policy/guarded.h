// SPDX-License-Identifier: Apache-2.0
// Policies of plug-ins, with a guard around every call: what goes wrong in one is an error that names policy, plug-in,
// function and block. Built-ins have none, so that it costs them nothing.
#pragma once

#include <memory>
#include <string>

#include "sim/policy/batcher.h"
#include "sim/policy/features.h"
#include "sim/policy/migrator.h"
#include "sim/policy/planner.h"
#include "sim/policy/policy.h"
#include "sim/policy/router.h"
#include "sim/policy/scheduler.h"

namespace uvmsim::policy {

// `label`: whose fault it is. Exceptions of any type become ModelError; crashes and exits: plugin_call.h.
std::shared_ptr<Prefetcher> guarded(std::shared_ptr<Prefetcher> policy, const std::string& label);
std::shared_ptr<Evictor> guarded(std::shared_ptr<Evictor> policy, const std::string& label);
std::shared_ptr<Planner> guarded(std::shared_ptr<Planner> policy, const std::string& label);
std::shared_ptr<Migrator> guarded(std::shared_ptr<Migrator> policy, const std::string& label);
std::shared_ptr<Router> guarded(std::shared_ptr<Router> policy, const std::string& label);
std::shared_ptr<Scheduler> guarded(std::shared_ptr<Scheduler> policy, const std::string& label);
std::shared_ptr<Batcher> guarded(std::shared_ptr<Batcher> policy, const std::string& label);
std::shared_ptr<FeatureListener> guarded(std::shared_ptr<FeatureListener> policy, const std::string& label);

// A guard and what it guards.
template <class Slot>
class Guard : public Slot {
 public:
  Guard(std::shared_ptr<Slot> policy, std::string label) : policy_(std::move(policy)), label_(std::move(label)) {}
  const std::shared_ptr<Slot>& policy() const { return policy_; }
  const std::string& label() const { return label_; }

 protected:
  std::shared_ptr<Slot> policy_;
  std::string label_;
};

// Of a policy that fills several slots, the one of slot `Part`, guarded as the other is; null if it does not fill it.
template <class Part, class Slot>
std::shared_ptr<Part> part_of(const std::shared_ptr<Slot>& policy) {
  const auto* guard = dynamic_cast<const Guard<Slot>*>(policy.get());
  if (guard == nullptr) return std::dynamic_pointer_cast<Part>(policy);
  auto part = std::dynamic_pointer_cast<Part>(guard->policy());
  return part == nullptr ? nullptr : guarded(std::move(part), guard->label());
}

}  // namespace uvmsim::policy
