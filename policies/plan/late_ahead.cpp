// SPDX-License-Identifier: Apache-2.0
// The model of learned_ahead on a processor beside the driver: it collects faults for a time and decides about all of
// them at once; its answer comes late, and faults are served meanwhile.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "policies/ahead_model.h"
#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class LateAhead final : public Planner {
 public:
  static PolicyInfo info() {
    return {.description = "the model of learned_ahead, asked in batches beside the driver: its answers come late",
            .source = "ours; what a model's latency does to a prefetcher that is as good as learned_ahead",
            .information = InformationClass::kD3};
  }
  static ParameterTable parameters() {
    ParameterTable table = AheadModel::parameters();
    table.push_back(
        integer("collect_us", 50, {0, 1000000}, "how long faults are collected for a decision, microseconds"));
    table.push_back(integer("decide_us", 20, {0, 1000000}, "what a decision takes, microseconds"));
    table.push_back(integer("fault_ns", 100, {0, 1000000}, "and for each of its faults, nanoseconds"));
    return table;
  }

  explicit LateAhead(const PolicyContext& context)
      : model_(context.parameters),
        collect_(context.parameters.integer("collect_us") * 1000),
        decide_(context.parameters.integer("decide_us") * 1000),
        per_fault_(context.parameters.integer("fault_ns")) {}

  void on_begin(const KernelLaunch& kernel) override { model_.begin_kernel(kernel.name, kernel.thread_blocks); }
  void on_faulted(BlockIndex block, const PageMask& pages) override {
    model_.look_at(block.value, pages.count());
    ++faults_;
    if (model_.whole_block()) want(block.value);
    for (std::uint64_t ahead = model_.blocks_ahead(), i = 1; i <= ahead; ++i) want(block.value + i);
  }
  void on_migrated(BlockIndex block) override {
    migrated_[block.value] = ++clock_;
    order_.emplace_back(block.value, clock_);
  }
  void on_released(BlockIndex block) override { migrated_.erase(block.value); }

  PlanCommand next(const PlanQueries& queries) override {
    if (answer_.empty()) {
      if (collected_.empty()) return {};
      if (!collects_) {
        collects_ = true;
        since_ = queries.now();
      }
      const Nanoseconds over = since_ + collect_;
      if (queries.now() < over) {
        return {.kind = PlanCommand::Kind::kWait, .block = {}, .pages = {}, .latency = over - queries.now()};
      }
      answer_.assign(collected_.begin(), collected_.end());
      latency_ = decide_ + per_fault_ * static_cast<std::int64_t>(faults_);
      collected_.clear();
      faults_ = 0;
      collects_ = false;
    }
    while (!answer_.empty()) {
      const BlockIndex block(answer_.front());
      const PageMask missing = queries.missing(block);
      if (missing.empty()) {
        answer_.pop_front();
        continue;
      }
      if (queries.free_chunks() == 0) {
        const BlockIndex oldest = oldest_of(queries);
        if (oldest == kNoBlock) {
          answer_.clear();
          return {};
        }
        return with_latency({.kind = PlanCommand::Kind::kEvict, .block = oldest, .pages = {}, .latency = {}});
      }
      answer_.pop_front();
      return with_latency({.kind = PlanCommand::Kind::kPrefetch, .block = block, .pages = missing, .latency = {}});
    }
    return {};
  }

 private:
  static constexpr BlockIndex kNoBlock{~std::uint64_t{0}};
  static constexpr std::size_t kMostCollected = 64;

  void want(std::uint64_t block) {
    if (collected_.size() == kMostCollected) return;
    if (std::find(collected_.begin(), collected_.end(), block) == collected_.end()) collected_.push_back(block);
  }
  using Migration = std::pair<std::uint64_t, std::uint64_t>;  // block, migration time by clock_

  // Returns the least recently migrated block that is not about to be fetched.
  BlockIndex oldest_of(const PlanQueries& queries) {
    const auto is_past = [&](const Migration& migration) {
      const auto found = migrated_.find(migration.first);
      return found == migrated_.end() || found->second != migration.second;
    };
    while (!order_.empty() && is_past(order_.front())) order_.pop_front();
    for (const Migration& migration : order_) {
      if (is_past(migration)) continue;
      const std::uint64_t block = migration.first;
      const bool wanted = std::find(answer_.begin(), answer_.end(), block) != answer_.end();
      if (!wanted && queries.evictable(BlockIndex(block))) return BlockIndex(block);
    }
    return kNoBlock;
  }
  // The first command of a decision carries the decision's latency.
  PlanCommand with_latency(PlanCommand command) {
    command.latency = latency_;
    latency_ = {};
    return command;
  }

  AheadModel model_;
  const Nanoseconds collect_, decide_, per_fault_;
  std::vector<std::uint64_t> collected_;  // blocks to fetch in the next decision
  std::uint64_t faults_ = 0;              // faults collected for it
  bool collects_ = false;
  Nanoseconds since_{};
  std::deque<std::uint64_t> answer_;  // remaining blocks of the last decision
  // The last decision's, until the first command carries it.
  Nanoseconds latency_{};
  std::deque<Migration> order_;                                // ascending in time; may hold outdated entries
  std::unordered_map<std::uint64_t, std::uint64_t> migrated_;  // by block on the GPU: the last migration
  std::uint64_t clock_ = 0;
};

}  // namespace

UVMSIM_POLICY(late_ahead, LateAhead);

}  // namespace uvmsim::policy
