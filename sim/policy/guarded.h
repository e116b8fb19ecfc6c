// SPDX-License-Identifier: Apache-2.0
// Guards around every call of a plug-in's policy: a failure becomes an error that names policy, plug-in, function and
// block. Built-ins have no guard and pay nothing for it.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/common/check.h"
#include "sim/common/error.h"
#include "sim/policy/features.h"
#include "sim/policy/plugin_call.h"
#include "sim/policy/slots.h"

namespace uvmsim::policy {

// Calls code of a plug-in. An exception of any type becomes a ModelError that names the policy and the call; an
// InputError, which reports a mistake of the user's, is passed on. plugin_call.h handles crashes and exits.
template <class F>
decltype(auto) guarded_call(const PluginCall& call, F&& f) {
  const InPluginCall inside(call);
  try {
    return std::forward<F>(f)();
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    throw ModelError(describe(call) + " threw: " + error.what());
  } catch (...) {
    throw ModelError(describe(call) + " threw something that is no std::exception");
  }
}

// The subject of a call, for messages.
struct About {
  About() = default;
  About(const char* counted, std::uint64_t value) : unit(counted), number(value) {}
  About(BlockIndex block) : About("block", block.value) {}
  About(ContentIndex content) : About("block", content.value) {}
  const char* unit = nullptr;  // null: no subject
  std::uint64_t number = 0;
};

// A policy behind a guard.
template <class Interface>
class Guard : public Interface {
 public:
  // `label` names the policy in messages.
  Guard(std::shared_ptr<Interface> policy, std::string label) : policy_(std::move(policy)), label_(std::move(label)) {}
  const std::shared_ptr<Interface>& policy() const { return policy_; }
  const std::string& label() const { return label_; }

 protected:
  // Calls the policy's `hook`, whose name is `name`.
  template <class Hook, class... Arguments>
  decltype(auto) call(const char* name, const About& about, Hook hook, Arguments&&... arguments) const {
    return guarded_call({label_.c_str(), name, about.unit, about.number}, [&]() -> decltype(auto) {
      return std::invoke(hook, *policy_, std::forward<Arguments>(arguments)...);
    });
  }

 private:
  std::shared_ptr<Interface> policy_;
  std::string label_;
};

// The guard of each slot and of FeatureListener: every function that a policy may override.
template <class Interface>
class Guarded;

template <>
class Guarded<Prefetcher> final : public Guard<Prefetcher> {
 public:
  using Guard::Guard;
  PageMask prefetch(const FaultedBlock& block) override {
    return call("prefetch", block.block, &Prefetcher::prefetch, block);
  }
  void prefetch_beyond(const FaultedBlock& block, const PrefetchQueries& queries,
                       std::vector<PageSpan>& spans) override {
    call("prefetch_beyond", block.block, &Prefetcher::prefetch_beyond, block, queries, spans);
  }
  void on_evicted(BlockIndex block, const PageMask& pages, const PageMask& touched) override {
    call("on_evicted", block, &Prefetcher::on_evicted, block, pages, touched);
  }
  void on_freed(BlockIndex block) override { call("on_freed", block, &Prefetcher::on_freed, block); }
  void add_state(StateDigest& digest) const override { call("add_state", {}, &Prefetcher::add_state, digest); }
};

// Messages name a chunk by the content that it was taken for: a 2 MB block, or a 64 KB unit where chunks are small.
template <>
class Guarded<Evictor> final : public Guard<Evictor> {
 public:
  using Guard::Guard;
  void on_allocated(ChunkId chunk, ContentIndex content) override {
    if (chunk.value >= contents_.size()) contents_.resize(chunk.value + 1);
    contents_[chunk.value] = content;
    call("on_allocated", content, &Evictor::on_allocated, chunk, content);
  }
  void on_process(ChunkId chunk, std::uint32_t process) override {
    call("on_process", about(chunk), &Evictor::on_process, chunk, process);
  }
  void on_turn(std::span<const std::uint32_t> processes) override {
    call("on_turn", {"process", processes.front()}, &Evictor::on_turn, processes);
  }
  void on_migrated(ChunkId chunk) override { call("on_migrated", about(chunk), &Evictor::on_migrated, chunk); }
  void on_emptied(ChunkId chunk) override { call("on_emptied", about(chunk), &Evictor::on_emptied, chunk); }
  void on_discarded(ChunkId chunk) override { call("on_discarded", about(chunk), &Evictor::on_discarded, chunk); }
  void on_released(ChunkId chunk) override { call("on_released", about(chunk), &Evictor::on_released, chunk); }
  void on_freed(ContentIndex content) override { call("on_freed", content, &Evictor::on_freed, content); }
  void on_touched(ChunkId chunk) override { call("on_touched", about(chunk), &Evictor::on_touched, chunk); }
  ChunkId select_victim(const EvictionQueries& queries) override {
    return call("select_victim", queries.incoming(), &Evictor::select_victim, queries);
  }
  ChunkId select_early_victim(const EvictionQueries& queries) override {
    return call("select_early_victim", queries.incoming(), &Evictor::select_early_victim, queries);
  }
  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const override {
    call("add_state", {}, &Evictor::add_state, digest, names);
  }

 private:
  About about(ChunkId chunk) const {
    return chunk.value < contents_.size() ? About(contents_[chunk.value]) : About("chunk", chunk.value);
  }

  std::vector<ContentIndex> contents_;  // by chunk
};

template <>
class Guarded<Planner> final : public Guard<Planner> {
 public:
  using Guard::Guard;
  void on_launched(const KernelLaunch& kernel) override {
    call("on_launched", {"kernel", kernel.number}, &Planner::on_launched, kernel);
  }
  void on_begin(const KernelLaunch& kernel) override {
    call("on_begin", {"kernel", kernel.number}, &Planner::on_begin, kernel);
  }
  void on_end(std::uint64_t number) override { call("on_end", {"kernel", number}, &Planner::on_end, number); }
  void on_faulted(BlockIndex block, const PageMask& pages) override {
    call("on_faulted", block, &Planner::on_faulted, block, pages);
  }
  void on_migrated(BlockIndex block) override { call("on_migrated", block, &Planner::on_migrated, block); }
  void on_released(BlockIndex block) override { call("on_released", block, &Planner::on_released, block); }
  PlanCommand next(const PlanQueries& queries) override { return call("next", {}, &Planner::next, queries); }
  PlanCommand victim(const PlanQueries& queries) override { return call("victim", {}, &Planner::victim, queries); }
};

template <>
class Guarded<Migrator> final : public Guard<Migrator> {
 public:
  using Guard::Guard;
  RestingPages rest(const FaultedPages& faulted) override {
    return call("rest", faulted.block, &Migrator::rest, faulted);
  }
  PageMask fetch(const RemoteAccesses& accesses) override {
    return call("fetch", accesses.block, &Migrator::fetch, accesses);
  }
  bool on_evicted(BlockIndex block, const PageMask& pages) override {
    return call("on_evicted", block, &Migrator::on_evicted, block, pages);
  }
  void on_migrated(BlockIndex block, const PageMask& pages) override {
    call("on_migrated", block, &Migrator::on_migrated, block, pages);
  }
  void on_kernel(std::uint32_t process) override {
    call("on_kernel", {"process", process}, &Migrator::on_kernel, process);
  }
  void on_freed(BlockIndex block) override { call("on_freed", block, &Migrator::on_freed, block); }
  void add_state(StateDigest& digest) const override { call("add_state", {}, &Migrator::add_state, digest); }
};

template <>
class Guarded<Router> final : public Guard<Router> {
 public:
  using Guard::Guard;
  Route route(const Move& move, const RouteQueries& queries) override {
    return call("route", move.block, &Router::route, move, queries);
  }
  void on_kernels(unsigned gpu, unsigned running) override {
    call("on_kernels", {"GPU", gpu}, &Router::on_kernels, gpu, running);
  }
  void add_state(StateDigest& digest) const override { call("add_state", {}, &Router::add_state, digest); }
};

template <>
class Guarded<Scheduler> final : public Guard<Scheduler> {
 public:
  using Guard::Guard;
  Turn next(const ScheduleQueries& queries) override { return call("next", {}, &Scheduler::next, queries); }
  bool interrupts(std::uint32_t waiting, std::uint32_t computing, const ScheduleQueries& queries) override {
    return call("interrupts", {"process", waiting}, &Scheduler::interrupts, waiting, computing, queries);
  }
  void forecast(const ScheduleQueries& queries, std::vector<std::uint32_t>& processes) override {
    call("forecast", {}, &Scheduler::forecast, queries, processes);
  }
};

template <>
class Guarded<Batcher> final : public Guard<Batcher> {
 public:
  using Guard::Guard;
  BatchShape shape(const BatchMoment& moment) override { return call("shape", {}, &Batcher::shape, moment); }
  void arrange(const FaultBatch& batch, std::vector<BlockIndex>& first) override {
    call("arrange", {}, &Batcher::arrange, batch, first);
  }
  std::uint32_t running_sms(const ServedBatch& batch) override {
    return call("running_sms", {}, &Batcher::running_sms, batch);
  }
  void add_state(StateDigest& digest) const override { call("add_state", {}, &Batcher::add_state, digest); }
};

template <>
class Guarded<FeatureListener> final : public Guard<FeatureListener> {
 public:
  using Guard::Guard;
  void on_faults(const FaultBatch& batch) override { call("on_faults", {}, &FeatureListener::on_faults, batch); }
  void on_kernel(const KernelStart& kernel) override {
    call("on_kernel", {"layer", kernel.layer}, &FeatureListener::on_kernel, kernel);
  }
  void on_prefetch_used(BlockIndex block, const PageMask& pages) override {
    call("on_prefetch_used", block, &FeatureListener::on_prefetch_used, block, pages);
  }
  void on_prefetch_wasted(BlockIndex block, const PageMask& pages) override {
    call("on_prefetch_wasted", block, &FeatureListener::on_prefetch_wasted, block, pages);
  }
};

template <class Interface>
std::shared_ptr<Interface> guarded(std::shared_ptr<Interface> policy, const std::string& label) {
  return std::make_shared<Guarded<Interface>>(std::move(policy), label);
}

// Returns the same policy as slot `Part`, guarded like the original; null if it does not fill that slot.
template <class Part, class Interface>
std::shared_ptr<Part> part_of(const std::shared_ptr<Interface>& policy) {
  const auto* guard = dynamic_cast<const Guard<Interface>*>(policy.get());
  if (guard == nullptr) return std::dynamic_pointer_cast<Part>(policy);
  auto part = std::dynamic_pointer_cast<Part>(guard->policy());
  return part == nullptr ? nullptr : guarded(std::move(part), guard->label());
}

}  // namespace uvmsim::policy
