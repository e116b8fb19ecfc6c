// SPDX-License-Identifier: Apache-2.0
// KernelRun, the SMs' side: the turn of an SM, and the effect of a replay on it.
#include <algorithm>
#include <limits>

#include "sim/engine/kernel_run.h"
#include "sim/engine/step_pages.h"
#include "sim/gpu/known_after.h"

namespace uvmsim::engine {

// Does the same as look_at_part() for slices.
template <KernelRun::Units kUnits>
inline bool KernelRun::look_at_slice(const SectionRun& section, const Resident& resident, const Share* shares,
                                     std::vector<Untaken>& rest) const {
  const bool last = kUnits == Units::kOneStep || resident.step + 1 == section.steps;
  bool missing = false;
  for (const std::uint32_t i : section.watched(resident.storing)) {
    const Operand& operand = section.operands[i];
    if (!last && resident.storing && !stores_in_every_step(section, operand)) continue;
    const Share& share = shares[i];
    const PageRange pages = slice_of_step(share, resident.step, kUnits == Units::kOneStep ? 1 : section.steps);
    std::uint64_t from = pages.begin;
    if (!missing) {
      from = first_missing(operand, share, pages);
      if (from == pages.end) continue;
      missing = true;
      rest.clear();
    }
    const AccessSize& size = section.sizes[i];
    const std::uint16_t each =
        pages.pages() == 1 ? size.page_requests : requests(warps_per_page(work_, pages), size, operand.write);
    operand.for_each_run(share, from, pages.end, [&](const PageRun& run) {
      rest.push_back({static_cast<std::uint32_t>(run.block.value), run.first, run.count, each, each,
                      size.instruction_requests, operand.write, false});
    });
  }
  return missing;
}

// What of the resident's part comes from its first missing page on goes to `rest`. False if nothing is missing.
template <KernelRun::Units kUnits>
inline bool KernelRun::look_at_part(const SectionRun& section, Resident& resident, const Share* shares,
                                    std::vector<Untaken>& rest) const {
  if (kUnits == Units::kOneStep) return look_at_slice<kUnits>(section, resident, shares, rest);
  if (is_clear(resident)) return false;
  if constexpr (kUnits == Units::kPlainSlices) {
    if (look_at_slice<kUnits>(section, resident, shares, rest)) return true;
    if (section.steps != 1) note_clear_steps(section, resident, shares);
    return false;
  }
  struct Looker {
    const KernelRun& run_;
    const AccessSize& size;
    std::vector<Untaken>& rest;
    bool passes(const Operand& operand, const Share& pages) const {
      return rest.empty() && operand.all_runs(pages, [&](const PageRun& run) { return run_.run_mapped(run); });
    }
    void operator()(const PageRun& run, std::uint32_t count, Reach reach) const {
      unsigned first = run.first;
      const unsigned end = first + run.count;
      if (rest.empty()) {
        first = run_.first_missing(run.block.value, run.write, first, end);
        if (first == end) return;
      }
      const std::uint16_t requests = reach == Reach::kWarps ? run_.requests(count, size, run.write)
                                     : reach == Reach::kLanes || run_.gmmu_.warps_share_faults
                                         ? std::uint16_t{1}
                                         : static_cast<std::uint16_t>(count);
      const std::uint16_t of_instruction = instruction_requests(size, run.write);
      rest.push_back({static_cast<std::uint32_t>(run.block.value), static_cast<std::uint16_t>(first),
                      static_cast<std::uint16_t>(end - first), requests, requests,
                      reach == Reach::kWarps ? of_instruction : std::min(of_instruction, requests), run.write,
                      reach == Reach::kLanes});
    }
  };
  rest.clear();
  for_each_page(work_, section, resident.unit - section.first_unit, resident.step, resident.storing, shares,
                Looker{*this, section.sizes.front(), rest});
  if (!rest.empty()) return true;
  if (section.steps != 1) note_clear_steps(section, resident, shares);
  return false;
}

// Call if the resident's present part finds every page mapped. Notes the step up to which its later parts do, too.
void KernelRun::note_clear_steps(const SectionRun& section, Resident& resident, const Share* shares) const {
  if (resident.clear_view != view_) resident.clear[!resident.storing] = 0;
  resident.clear_view = view_;
  std::uint64_t clear = work_.explicit_touches ? 0 : section.steps;  // a list of touches has no operands
  for (const std::uint32_t i : section.watched(resident.storing)) {
    clear = std::min(clear, clear_steps(work_, section, section.operands[i], shares[i],
                                        resident.unit - section.first_unit, resident.step, [&](PageRange pages) {
                                          return first_missing(section.operands[i], shares[i], pages);
                                        }));
  }
  resident.clear[resident.storing] = static_cast<std::uint32_t>(clear);
}

// The first of the pages misses: sends its requests. False if the SM waits for the next replay before all are out.
inline bool KernelRun::raise(SmQueue& sm, std::uint32_t sm_index, Untaken& next) {
  using gpu::RequestKind;
  Resident& resident = residents_[sm.taken.resident];
  const std::uint64_t page = std::uint64_t{next.block} * kPagesPerBlock + next.first;
  const RequestKind kind = next.write ? (next.scattered ? RequestKind::kStoreLane : RequestKind::kStore)
                                      : (next.scattered ? RequestKind::kLoadLane : RequestKind::kLoad);
  const std::uint16_t wanted = sm.mixed ? std::min(next.left, next.per_instruction) : next.left;
  // Warps that wait for loads go on one by one, as their data come, unless they meet at a barrier before they store.
  const bool after_loads =
      next.write ? resident.section->load_time != Nanoseconds{} && !work_.stores_together : resident.step != 0;
  const bool one_by_one = !next.scattered && after_loads;
  const bool apart = !next.scattered && (after_loads || !next.write);
  const gpu::Miss miss{PageIndex(page), sm.taken.resident, wanted, next.per_instruction, apart, kind};
  const std::uint32_t sent = sm.requests.raise(path_, *fault_unit_, sm_index, sm.now, miss, [&] {
    // Warps that wait: the others of this unit, and all of those behind it.
    std::uint32_t waiting = !one_by_one ? work_.warps - 1 : 0;
    if (waiting < path_.busy_warps) waiting += work_.warps * sm.waiting(sm.now, path_.busy_warps);
    return gpu::known_after(path_, PageIndex(page), usable(next.block, false), {sm.passed, waiting});
  });
  if (sent != 0) ++(next.write && !waits_for_stores_ ? stores_out_ : resident.pending);
  next.left = static_cast<std::uint16_t>(next.left - sent);
  if (sent != wanted) return false;
  if (next.left != 0) return true;
  next.left = next.requests;
  ++next.first;
  --next.count;
  return true;
}

// Takes what is left of the part at the head of the queue. False if the SM has to wait for the next replay.
[[gnu::always_inline]] inline bool KernelRun::take_rest(SmQueue& sm, std::uint32_t sm_index) {
  if (sm.mixed) {
    while (!sm.rest.empty()) {
      const std::uint64_t draw = mixed_bits(std::uint64_t{sm_index} << 40 | ++sm.draws);
      Untaken& next = sm.rest[static_cast<std::size_t>((draw >> 32) * sm.rest.size() >> 32)];
      if (usable(next.block, next.write).test(next.first)) {
        if (sm.requests.stopped(sm.now)) return false;
        sm.passed = true;
        sm.now += pass_time_ * static_cast<std::int64_t>(next.left);
        next = sm.rest.back();
        sm.rest.pop_back();
        continue;
      }
      const std::uint64_t index = static_cast<std::uint64_t>(&next - sm.rest.data());
      if (!raise(sm, sm_index, next)) return false;
      if (sm.rest[index].count == 0) {
        sm.rest[index] = sm.rest.back();
        sm.rest.pop_back();
      }
    }
    return true;
  }
  for (; sm.next_rest != sm.rest.size(); ++sm.next_rest) {
    Untaken& next = sm.rest[sm.next_rest];
    while (next.count != 0) {
      const unsigned end = next.first + next.count;
      const unsigned missed = first_missing(next.block, next.write, next.first, end);
      if (missed == next.first) {
        if (!raise(sm, sm_index, next)) return false;
        continue;
      }
      if (sm.requests.stopped(sm.now)) return false;
      sm.passed = true;
      const unsigned requests = next.left + next.requests * (missed - next.first - 1);
      sm.now += pass_time_ * static_cast<std::int64_t>(requests);
      next.left = next.requests;
      next.first = static_cast<std::uint16_t>(missed);
      next.count = static_cast<std::uint16_t>(end - missed);
    }
  }
  return true;
}

// The SM works through its queue up to `until`, or until it has to wait for a replay.
template <KernelRun::Units kUnits>
[[gnu::always_inline]] inline void KernelRun::serve(SmQueue& sm, std::uint32_t sm_index, Nanoseconds until) {
  while (true) {
    if (!sm.taking) {
      if (sm.parts.empty()) return;
      const Nanoseconds now = std::max(sm.now, sm.parts.front().ready);
      if (now > until) return;
      if (sm.requests.stopped(now)) {
        sm.blocked = true;
        return;
      }
      sm.now = now;
      const std::uint32_t index = sm.parts.front().resident;
      Resident& resident = residents_[index];
      const SectionRun& section = *resident.section;
      if (!look_at_part<kUnits>(section, resident, shares_of(index), sm.rest)) {
        sm.parts.pop();
        sm.passed = true;
        if (kUnits == Units::kOneStep || !knows_clear_steps(resident) || !sm.requests.idle() ||
            !skip_clear_steps(sm, index, now)) {
          sm.now += pass_time(section, resident.storing, now - sm.resumed);
          go_on<kUnits>(sm, index, sm.now, true);
        }
        continue;
      }
      sm.take();
      if (resident.step != 0 && !resident.storing && !sm.rest.front().scattered &&
          (sm.rest.size() > 1 || sm.rest.front().count > 1))
        sm.mix();
    }
    if (sm.now > until) return;
    if (!take_rest(sm, sm_index)) {
      sm.blocked = true;
      return;
    }
    sm.taking = false;
    if (pass(residents_[sm.taken.resident])) go_on<kUnits>(sm, sm.taken.resident, sm.now, true);
  }
}

// Units that begin by `until` do, and the SM computes.
template <KernelRun::Units kUnits>
void KernelRun::run(std::uint32_t sm_index, Nanoseconds until) {
  SmQueue& sm = sms_[sm_index];
  while (!sm.starts.empty() && sm.starts.front().ready <= until) {
    const Turn start = sm.starts.front();
    const Resident& resident = residents_[start.resident];
    if (!resident.has_unit && !resident.ended) break;  // has ended only now
    sm.starts.pop();
    if (!resident.has_unit) continue;
    // Its number was assigned when its place was free; its first instruction comes up to block_start_ns later.
    Nanoseconds now = start.ready;
    if (!resident.first && !as_recorded_) now += spread(system_.runtime.block_start_ns);
    go_on<kUnits>(sm, start.resident, now, false);
  }
  if (!sm.blocked) serve<kUnits>(sm, sm_index, until);
  present_ = std::max(present_, sm.now);
  note_next(sm_index, sm);
}

template void KernelRun::run<KernelRun::Units::kOneStep>(std::uint32_t, Nanoseconds);
template void KernelRun::run<KernelRun::Units::kPlainSlices>(std::uint32_t, Nanoseconds);
template void KernelRun::run<KernelRun::Units::kTiles>(std::uint32_t, Nanoseconds);
template void KernelRun::run<KernelRun::Units::kOther>(std::uint32_t, Nanoseconds);

void KernelRun::replay(Nanoseconds now, std::uint32_t sms) {
  now = own(now);
  find_pages();
  fault_unit_->forget();
  const auto writes = [](const gpu::Miss& miss) {
    return miss.kind == gpu::RequestKind::kStore || miss.kind == gpu::RequestKind::kStoreLane;
  };
  for (std::uint32_t index = 0; index < std::min(sms, sm_count_); ++index) {
    SmQueue& sm = sms_[index];
    sm.passed = false;
    if (sm.requests.idle() && !sm.blocked) continue;
    const Nanoseconds reached = now + spread(path_.resume_spread_ns);
    const auto mapped = [&](const gpu::Miss& miss) {
      const PageMask& pages = usable(miss.page.value / kPagesPerBlock, writes(miss));
      return pages.test(static_cast<unsigned>(miss.page.value % kPagesPerBlock));
    };
    const auto passed = [&](const gpu::Miss& miss) {
      if (!writes(miss) || waits_for_stores_) {
        if (pass(residents_[miss.owner])) go_on(sm, miss.owner, reached, true);
        return;
      }
      --stores_out_;
      end_ = std::max(end_, reached);
    };
    const Nanoseconds after = sm.requests.replay(path_, *fault_unit_, index, reached, mapped, passed);
    sm.now = std::max(sm.now, after);
    sm.resumed = reached;
    sm.blocked = false;
    note_next(index, sm);
  }
}

}  // namespace uvmsim::engine
