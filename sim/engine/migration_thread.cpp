// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/migration_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/common/error.h"
#include "sim/driver/mappings.h"

namespace uvmsim::engine {

using policy::PlanCommand;

MigrationThread::MigrationThread(unsigned gpu, std::shared_ptr<policy::Planner> planner, const policy::PolicyInfo& info,
                                 const Parts& parts)
    : gpu_(gpu),
      planner_(std::move(planner)),
      decision_cost_(info.decision_cost),
      sees_kernels_(info.information >= policy::InformationClass::kD3),
      parts_(parts),
      label_(fmt::format("plan policy '{}'", info.name)) {}

void MigrationThread::look() {
  now_ = parts_.events.now();
  if (now_ < free_at_ || copies_.size() >= kMostCopies || parts_.fault_loops[gpu_]->needs_thread(now_)) return;
  for (unsigned i = 0; i < kCommandsPerTurn; ++i) {
    const std::optional<PlanCommand> command = decision();
    if (!command || !carry_out(*command) || command->kind == PlanCommand::Kind::kPrefetch) return;
  }
}

// Returns the command that takes effect now: the one decided earlier, else the planner's immediate answer. Returns none
// while a decision takes time.
std::optional<PlanCommand> MigrationThread::decision() {
  if (decided_.kind != PlanCommand::Kind::kNone) {
    if (now_ < decided_at_) return std::nullopt;
    return std::exchange(decided_, PlanCommand{});
  }
  PlanCommand command = planner_->next(*this);
  if (command.latency < Nanoseconds{} || command.latency > policy::kMostLatency) {
    throw ModelError(fmt::format("{} decides within {} ns; allowed: 0 to {}", label_, command.latency.value,
                                 policy::kMostLatency.value));
  }
  if (command.kind == PlanCommand::Kind::kNone) return std::nullopt;
  Nanoseconds then = now_ + command.latency;
  if (command.kind == PlanCommand::Kind::kWait) {
    then = std::max(then, now_ + policy::kLeastWait);
    if (timer_at_ <= now_ || then < timer_at_) {
      timer_at_ = then;
      parts_.events.schedule(then, EventKind::kPlan, gpu_);
    }
    return std::nullopt;
  }
  if (then == now_) return command;
  decided_ = command;
  decided_at_ = then;
  parts_.events.schedule(then, EventKind::kPlan, gpu_);
  return std::nullopt;
}

bool MigrationThread::carry_out(const PlanCommand& command) {
  driver::Work work(std::max(now_, free_at_) + decision_cost_);
  bool done = false;
  switch (command.kind) {
    case PlanCommand::Kind::kNone:
    case PlanCommand::Kind::kWait:
      return false;
    case PlanCommand::Kind::kPrefetch:
      done = prefetch(work, command.block, command.pages);
      break;
    case PlanCommand::Kind::kEvict:
    case PlanCommand::Kind::kDrop:
      done = evict(work, command.block, command.kind == PlanCommand::Kind::kDrop);
      break;
  }
  if (!done) return false;
  free_at_ = std::max(work.cpu, std::max(now_, free_at_) + Nanoseconds(1));  // takes 1 ns at least
  parts_.events.schedule(free_at_, EventKind::kPlan, gpu_);
  return true;
}

void MigrationThread::begin_change() {
  for (const auto& loop : parts_.fault_loops) loop->advance(now_);
  EventSink* accounts = parts_.context.accounts;
  if (accounts != nullptr) accounts->on(ActorEvent{Actor::kFaultService, static_cast<std::int32_t>(gpu_), 0});
}

bool MigrationThread::prefetch(driver::Work& work, BlockIndex b, const PageMask& asked) {
  const PageMask pages = asked & missing(b);
  if (pages.empty()) return false;
  const VaBlock& block = parts_.context.space.block(b);
  const bool backed = block.full_size() && parts_.context.gpus[gpu_].memory.whole(b).valid();
  if (!backed && free_chunks() == 0) return false;
  if (block.hints.any() || !block.read_duplicated.empty() || parts_.thrashing.tracks(b)) return false;
  begin_change();
  const bool populated = !parts_.context.space.resident_anywhere(b).intersects(pages);
  const config::DriverCosts& costs = parts_.context.costs();
  work.spend(costs.plan_block_ns + costs.map_block_ns + costs.map_page_ns * pages.count());
  parts_.residency.to_gpu(work, b, gpu_, {.demanded = {}, .prefetched = pages});
  parts_.context.counters.prefetched_pages += pages.count();
  if (parts_.thrashing.interested() && !populated) parts_.thrashing.on_migration(b, pages, gpu_processor(gpu_), now_);
  copies_.push_back({work.done(), b, pages});
  parts_.events.schedule(work.done(), EventKind::kPlan, gpu_);
  return true;
}

bool MigrationThread::evict(driver::Work& work, BlockIndex b, bool drop) {
  if (!evictable(b) || (drop && !inactive(b))) return false;
  if (kept_until_.value(b.value) > now_) return false;
  begin_change();
  parts_.residency.chunks().evict_early(work, gpu_, b, drop);
  return true;
}

void MigrationThread::on_done() {
  now_ = parts_.events.now();
  for (const auto& loop : parts_.fault_loops) loop->advance(now_);
  AddressSpace& space = parts_.context.space;
  std::erase_if(copies_, [&](const Copy& copy) {
    if (copy.done > now_) return false;
    const PageMask here = copy.pages & space.pages(copy.block, gpu_processor(gpu_)).resident;
    driver::Work paid(now_);  // the costs were paid at the begin
    if (!here.empty()) driver::map_local(parts_.context, paid, copy.block, gpu_, here, here);
    return true;
  });
}

Nanoseconds MigrationThread::idle_at() const {
  Nanoseconds end = free_at_;
  for (const Copy& copy : copies_) end = std::max(end, copy.done);
  return end;
}

void MigrationThread::keep(BlockIndex block, Nanoseconds end) {
  Nanoseconds& until = kept_until_[block.value];
  until = std::max(until, end);
}

std::optional<driver::PlanHooks::Victim> MigrationThread::victim(driver::Work& work) {
  now_ = work.cpu;
  work.cpu += decision_cost_;
  const PlanCommand answer = planner_->victim(*this);
  const bool drop = answer.kind == PlanCommand::Kind::kDrop;
  if (!(drop || answer.kind == PlanCommand::Kind::kEvict) || !evictable(answer.block)) return std::nullopt;
  if (drop && !inactive(answer.block)) return std::nullopt;
  return Victim{answer.block, drop};
}

bool MigrationThread::known(BlockIndex b) const {
  return b.value < parts_.context.space.block_count() && parts_.context.space.block(b).live;
}

PageMask MigrationThread::missing(BlockIndex b) const {
  if (!known(b)) return {};
  return parts_.context.space.block(b).extent() - parts_.context.space.pages(b, gpu_processor(gpu_)).resident;
}

bool MigrationThread::evictable(BlockIndex b) const {
  if (!known(b)) return false;
  const GpuMemory& memory = parts_.context.gpus[gpu_].memory;
  const ChunkId chunk = memory.whole(b);
  const auto copied = [&](const Copy& copy) { return copy.block == b; };
  return chunk.valid() && memory.chunk(chunk).state == ChunkState::kAllocated &&
         std::none_of(copies_.begin(), copies_.end(), copied);
}

bool MigrationThread::inactive(BlockIndex b) const { return known(b) && parts_.live_memory.holds_nothing(b); }

std::uint32_t MigrationThread::free_chunks() const { return parts_.context.gpus[gpu_].memory.free_chunks(); }

}  // namespace uvmsim::engine
