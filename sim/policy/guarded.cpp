// SPDX-License-Identifier: Apache-2.0
#include "sim/policy/guarded.h"

#include <utility>
#include <vector>

#include "sim/policy/guarded_call.h"

namespace uvmsim::policy {
namespace {

template <class Slot>
class Calls : public Guard<Slot> {
 public:
  using Guard<Slot>::Guard;

 protected:
  template <class F>
  decltype(auto) call(const char* hook, const char* unit, std::uint64_t number, F&& f) const {
    return guarded_call({this->label_.c_str(), hook, unit, number}, std::forward<F>(f));
  }
  template <class F>
  decltype(auto) call(const char* hook, BlockIndex block, F&& f) const {
    return call(hook, "block", block.value, std::forward<F>(f));
  }
  template <class F>
  decltype(auto) call(const char* hook, F&& f) const {
    return call(hook, nullptr, 0, std::forward<F>(f));
  }
};

class GuardedPrefetcher final : public Calls<Prefetcher> {
 public:
  using Calls::Calls;
  PageMask prefetch(const FaultedBlock& block) override {
    return call("prefetch", block.block, [&] { return policy_->prefetch(block); });
  }
  void prefetch_beyond(const FaultedBlock& block, const PrefetchQueries& queries,
                       std::vector<PageSpan>& spans) override {
    call("prefetch_beyond", block.block, [&] { policy_->prefetch_beyond(block, queries, spans); });
  }
  void on_evicted(BlockIndex block, const PageMask& pages, const PageMask& touched) override {
    call("on_evicted", block, [&] { policy_->on_evicted(block, pages, touched); });
  }
  void on_freed(BlockIndex block) override {
    call("on_freed", block, [&] { policy_->on_freed(block); });
  }
  void add_state(StateDigest& digest) const override {
    call("add_state", [&] { policy_->add_state(digest); });
  }
};

// Chunks go by what they were taken for: a 2 MB block, or a 64 KB unit where chunks are small.
class GuardedEvictor final : public Calls<Evictor> {
 public:
  using Calls::Calls;
  void on_allocated(ChunkId chunk, ContentIndex content) override {
    if (chunk.value >= contents_.size()) contents_.resize(chunk.value + 1);
    contents_[chunk.value] = content;
    call("on_allocated", "block", content.value, [&] { policy_->on_allocated(chunk, content); });
  }
  void on_process(ChunkId chunk, std::uint32_t process) override {
    of_chunk("on_process", chunk, [&] { policy_->on_process(chunk, process); });
  }
  void on_turn(std::span<const std::uint32_t> processes) override {
    call("on_turn", "process", processes.front(), [&] { policy_->on_turn(processes); });
  }
  void on_migrated(ChunkId chunk) override {
    of_chunk("on_migrated", chunk, [&] { policy_->on_migrated(chunk); });
  }
  void on_emptied(ChunkId chunk) override {
    of_chunk("on_emptied", chunk, [&] { policy_->on_emptied(chunk); });
  }
  void on_discarded(ChunkId chunk) override {
    of_chunk("on_discarded", chunk, [&] { policy_->on_discarded(chunk); });
  }
  void on_released(ChunkId chunk) override {
    of_chunk("on_released", chunk, [&] { policy_->on_released(chunk); });
  }
  void on_freed(ContentIndex content) override {
    call("on_freed", "block", content.value, [&] { policy_->on_freed(content); });
  }
  void on_touched(ChunkId chunk) override {
    of_chunk("on_touched", chunk, [&] { policy_->on_touched(chunk); });
  }
  ChunkId select_victim(const EvictionQueries& queries) override {
    return call("select_victim", "block", queries.incoming().value, [&] { return policy_->select_victim(queries); });
  }
  ChunkId select_early_victim(const EvictionQueries& queries) override {
    return call("select_early_victim", "block", queries.incoming().value,
                [&] { return policy_->select_early_victim(queries); });
  }
  void add_state(StateDigest& digest, const std::vector<std::uint64_t>& names) const override {
    call("add_state", [&] { policy_->add_state(digest, names); });
  }

 private:
  template <class F>
  void of_chunk(const char* hook, ChunkId chunk, F&& f) const {
    if (chunk.value >= contents_.size()) return call(hook, "chunk", chunk.value, f);
    call(hook, "block", contents_[chunk.value].value, f);
  }

  std::vector<ContentIndex> contents_;  // by chunk
};

class GuardedPlanner final : public Calls<Planner> {
 public:
  using Calls::Calls;
  void on_launched(const KernelLaunch& kernel) override {
    call("on_launched", "kernel", kernel.number, [&] { policy_->on_launched(kernel); });
  }
  void on_begin(const KernelLaunch& kernel) override {
    call("on_begin", "kernel", kernel.number, [&] { policy_->on_begin(kernel); });
  }
  void on_end(std::uint64_t number) override {
    call("on_end", "kernel", number, [&] { policy_->on_end(number); });
  }
  void on_faulted(BlockIndex block, const PageMask& pages) override {
    call("on_faulted", block, [&] { policy_->on_faulted(block, pages); });
  }
  void on_migrated(BlockIndex block) override {
    call("on_migrated", block, [&] { policy_->on_migrated(block); });
  }
  void on_released(BlockIndex block) override {
    call("on_released", block, [&] { policy_->on_released(block); });
  }
  PlanCommand next(const PlanQueries& queries) override {
    return call("next", [&] { return policy_->next(queries); });
  }
  PlanCommand victim(const PlanQueries& queries) override {
    return call("victim", [&] { return policy_->victim(queries); });
  }
};

class GuardedMigrator final : public Calls<Migrator> {
 public:
  using Calls::Calls;
  RestingPages rest(const FaultedPages& faulted) override {
    return call("rest", faulted.block, [&] { return policy_->rest(faulted); });
  }
  PageMask fetch(const RemoteAccesses& accesses) override {
    return call("fetch", accesses.block, [&] { return policy_->fetch(accesses); });
  }
  bool on_evicted(BlockIndex block, const PageMask& pages) override {
    return call("on_evicted", block, [&] { return policy_->on_evicted(block, pages); });
  }
  void on_migrated(BlockIndex block, const PageMask& pages) override {
    call("on_migrated", block, [&] { policy_->on_migrated(block, pages); });
  }
  void on_kernel(std::uint32_t process) override {
    call("on_kernel", "process", process, [&] { policy_->on_kernel(process); });
  }
  void on_freed(BlockIndex block) override {
    call("on_freed", block, [&] { policy_->on_freed(block); });
  }
  void add_state(StateDigest& digest) const override {
    call("add_state", [&] { policy_->add_state(digest); });
  }
};

class GuardedRouter final : public Calls<Router> {
 public:
  using Calls::Calls;
  Route route(const Move& move, const RouteQueries& queries) override {
    return call("route", move.block, [&] { return policy_->route(move, queries); });
  }
  void on_kernels(unsigned gpu, unsigned running) override {
    call("on_kernels", "GPU", gpu, [&] { policy_->on_kernels(gpu, running); });
  }
  void add_state(StateDigest& digest) const override {
    call("add_state", [&] { policy_->add_state(digest); });
  }
};

class GuardedScheduler final : public Calls<Scheduler> {
 public:
  using Calls::Calls;
  Turn next(const ScheduleQueries& queries) override {
    return call("next", [&] { return policy_->next(queries); });
  }
  bool interrupts(std::uint32_t waiting, std::uint32_t computing, const ScheduleQueries& queries) override {
    return call("interrupts", "process", waiting, [&] { return policy_->interrupts(waiting, computing, queries); });
  }
  void forecast(const ScheduleQueries& queries, std::vector<std::uint32_t>& processes) override {
    call("forecast", [&] { policy_->forecast(queries, processes); });
  }
};

class GuardedBatcher final : public Calls<Batcher> {
 public:
  using Calls::Calls;
  BatchShape shape(const BatchMoment& moment) override {
    return call("shape", [&] { return policy_->shape(moment); });
  }
  void arrange(const FaultBatch& batch, std::vector<BlockIndex>& first) override {
    call("arrange", [&] { policy_->arrange(batch, first); });
  }
  std::uint32_t running_sms(const ServedBatch& batch) override {
    return call("running_sms", [&] { return policy_->running_sms(batch); });
  }
  void add_state(StateDigest& digest) const override {
    call("add_state", [&] { policy_->add_state(digest); });
  }
};

class GuardedListener final : public Calls<FeatureListener> {
 public:
  using Calls::Calls;
  void on_faults(const FaultBatch& batch) override {
    call("on_faults", [&] { policy_->on_faults(batch); });
  }
  void on_kernel(const KernelStart& kernel) override {
    call("on_kernel", "layer", kernel.layer, [&] { policy_->on_kernel(kernel); });
  }
  void on_prefetch_used(BlockIndex block, const PageMask& pages) override {
    call("on_prefetch_used", block, [&] { policy_->on_prefetch_used(block, pages); });
  }
  void on_prefetch_wasted(BlockIndex block, const PageMask& pages) override {
    call("on_prefetch_wasted", block, [&] { policy_->on_prefetch_wasted(block, pages); });
  }
};

}  // namespace

std::shared_ptr<Prefetcher> guarded(std::shared_ptr<Prefetcher> policy, const std::string& label) {
  return std::make_shared<GuardedPrefetcher>(std::move(policy), label);
}
std::shared_ptr<Evictor> guarded(std::shared_ptr<Evictor> policy, const std::string& label) {
  return std::make_shared<GuardedEvictor>(std::move(policy), label);
}
std::shared_ptr<Planner> guarded(std::shared_ptr<Planner> policy, const std::string& label) {
  return std::make_shared<GuardedPlanner>(std::move(policy), label);
}
std::shared_ptr<Migrator> guarded(std::shared_ptr<Migrator> policy, const std::string& label) {
  return std::make_shared<GuardedMigrator>(std::move(policy), label);
}
std::shared_ptr<Router> guarded(std::shared_ptr<Router> policy, const std::string& label) {
  return std::make_shared<GuardedRouter>(std::move(policy), label);
}
std::shared_ptr<Scheduler> guarded(std::shared_ptr<Scheduler> policy, const std::string& label) {
  return std::make_shared<GuardedScheduler>(std::move(policy), label);
}
std::shared_ptr<Batcher> guarded(std::shared_ptr<Batcher> policy, const std::string& label) {
  return std::make_shared<GuardedBatcher>(std::move(policy), label);
}
std::shared_ptr<FeatureListener> guarded(std::shared_ptr<FeatureListener> policy, const std::string& label) {
  return std::make_shared<GuardedListener>(std::move(policy), label);
}

}  // namespace uvmsim::policy
