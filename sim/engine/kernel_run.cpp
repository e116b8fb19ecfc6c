// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/kernel_run.h"

#include <algorithm>

#include "sim/common/check.h"
#include "sim/engine/step_pages.h"
#include "sim/gpu/dispatch.h"

namespace uvmsim::engine {

namespace {

gpu::FaultPath fault_path_of(const config::GmmuConfig& gmmu) {
  gpu::FaultPath path;
  path.gpcs = gmmu.gpcs;
  path.fault_ps = gmmu.fault_ps;
  path.store_packets = gmmu.store_packets_per_sm;
  path.store_lanes = gmmu.store_lanes_per_sm;
  path.load_requests = gmmu.load_requests_per_sm;
  path.regions = gmmu.fault_regions_per_sm;
  path.known_ns = gmmu.known_ns;
  path.known_busy_ns = gmmu.known_busy_ns;
  path.known_half_ns = gmmu.known_half_ns;
  path.known_far_ns = gmmu.known_far_ns;
  path.resume_spread_ns = gmmu.resume_spread_ns;
  return path;
}

}  // namespace

KernelRun::KernelRun(KernelWork work, unsigned gpu, const config::SystemConfig& system, const AddressSpace& space,
                     gmmu::FaultBuffer& buffer, Counters& counters, Buffers& buffers, std::uint64_t seed)
    : work_(std::move(work)),
      gpu_(gpu),
      system_(system),
      gmmu_(system.gmmu),
      space_(space),
      me_(gpu_processor(gpu)),
      buffer_(buffer),
      counters_(counters),
      buffers_(buffers),
      random_(seed),
      path_(fault_path_of(system.gmmu)) {
  find_pages();
}

KernelRun::~KernelRun() {
  if (residents_.empty()) return;  // never started
  buffers_.kept.push_back(
      {std::move(residents_), std::move(sms_), std::move(shares_), std::move(fault_unit_), whole_gpu_});
}

// Returns whether the operand is fully mapped. The search begins at the page that was missing last time.
bool KernelRun::operand_mapped(SectionRun& section, std::uint32_t index) const {
  const Operand& operand = section.operands[index];
  std::uint64_t& at = section.unmapped[index];
  const auto mapped = [&](const PageRun& run, std::uint64_t position) {
    if (run_mapped(run)) return true;
    at = position;
    return false;
  };
  const std::uint64_t begin = at;
  return operand.all_runs(begin, operand.pages, mapped) && operand.all_runs(0, begin, mapped);
}

bool KernelRun::all_mapped() const {
  for (const Section& section : work_.sections) {
    for (const Operand& operand : section.operands) {
      const auto mapped = [&](const PageRun& run, std::uint64_t) { return run_mapped(run); };
      if (!operand.all_runs(0, operand.pages, mapped)) return false;
    }
  }
  return std::none_of(work_.touches.begin(), work_.touches.end(),
                      [&](const PageRef& page) { return !usable(page.block.value, page.write).test(page.page); });
}

void KernelRun::start(Nanoseconds now) {
  const std::uint32_t sms = system_.gpus[gpu_].sm_count;
  const std::uint32_t groups = (work_.resident_units + work_.units_per_block - 1) / work_.units_per_block;
  whole_gpu_ = groups >= sms;
  if (!buffers_.kept.empty()) {
    Buffers::Set& kept = buffers_.kept.back();
    residents_ = std::move(kept.residents);
    sms_ = std::move(kept.sms);
    shares_ = std::move(kept.shares);
    if (kept.whole_gpu == whole_gpu_) fault_unit_ = std::move(kept.fault_unit);
    buffers_.kept.pop_back();
  }
  if (fault_unit_ != nullptr) {
    fault_unit_->reset();
  } else {
    fault_unit_ =
        std::make_unique<gpu::FaultUnit>(path_, gpu::gpcs_in_order_of_dispatch(sms, path_.gpcs, whole_gpu_ ? sms : 1));
  }
  sms_.resize(sms);
  for (SmQueue& sm : sms_) sm.reset((groups + sms - 1) / sms * work_.units_per_block);
  for (SmQueue& sm : sms_) sm.resumed = now;
  next_.assign(sms, kNever);
  due_.resize(sms + 1);
  sm_count_ = sms;
  UVMSIM_CHECK(work_.resident_units >> kBeginResidentBits == 0, "{} residents", work_.resident_units);
  residents_.assign(work_.resident_units, Resident{});
  sections_ = std::vector<SectionRun>(work_.sections.begin(), work_.sections.end());
  for (const SectionRun& section : sections_) most_operands_ = std::max(most_operands_, section.operands.size());
  shares_.resize(work_.resident_units * most_operands_);
  end_ = now;
  present_ = now;
  unmap_epoch_ = space_.unmap_epoch(gpu_);
  unmapped_ = false;
  const bool one_step =
      std::all_of(sections_.begin(), sections_.end(), [](const SectionRun& section) { return section.steps == 1; });
  kind_ = plain_slices(work_)                ? (one_step ? Units::kOneStep : Units::kPlainSlices)
          : work_.pattern == Pattern::kTiles ? Units::kTiles
                                             : Units::kOther;
  begin_section();
  plan_turns();
  plan_requests();
  // The first blocks, in their order; those of an SM begin one after another, a warp each block_launch_ns.
  std::vector<Nanoseconds> first(sms);
  for (Nanoseconds& time : first) time = now + spread(system_.runtime.block_spread_ns);
  for (std::uint32_t i = 0; i < work_.resident_units; ++i) {
    const std::uint32_t group = i / work_.units_per_block;
    const std::uint32_t sm = group % sms;
    residents_[i].sm = static_cast<std::uint16_t>(sm);
    const bool begins = take_unit(i);
    residents_[i].first = true;
    if (work_.oldest_first && !as_recorded_) residents_[i].pace = pace_of_slot(group / sms, (groups + sms - 1) / sms);
    UVMSIM_CHECK(begins, "{} units for {} residents", work_.units, work_.resident_units);
    Nanoseconds time = now;
    if (!as_recorded_) {
      const std::uint64_t warps = std::uint64_t{group / sms} * work_.warps * work_.units_per_block;
      time = first[sm] + ns(warps * system_.runtime.block_launch_ns) + spread(system_.runtime.block_spread_ns);
    }
    sms_[sm].starts.add({time, i});
  }
  for (std::uint32_t sm = 0; sm < sms; ++sm) note_next(sm, sms_[sm]);
}

void KernelRun::start_beside_others(Nanoseconds now, Nanoseconds recorded) {
  beside_others_ = true;
  as_recorded_ = all_mapped();
  start(now);
  if (as_recorded_) end_ = now + recorded;
}

// The resident takes the next unit, if one is left.
inline bool KernelRun::take_unit(std::uint32_t index) {
  if (next_unit_ == work_.units) return false;
  while (next_unit_ >= section_end_) {
    ++next_section_;
    begin_section();
  }
  Resident& resident = residents_[index];
  const std::uint16_t sm = resident.sm;
  resident = Resident{};
  resident.sm = sm;
  resident.unit = next_unit_++;
  resident.section = &sections_[next_section_];
  resident.has_unit = true;
  plan_shares(index);
  return true;
}

// The unit ends at `time`, though stores of it may be outstanding. The next unit gets its number block_start_ns later.
[[gnu::always_inline]] inline void KernelRun::end_unit(SmQueue& sm, std::uint32_t index, Nanoseconds time) {
  residents_[index].has_unit = false;
  end_ = std::max(end_, time);
  if (next_unit_ == work_.units) {
    ++idle_residents_;
    return;
  }
  sm.starts.add({time + block_start_, index});
}

Nanoseconds KernelRun::earliest() const {
  Nanoseconds first = kNever;
  for (const Nanoseconds next : next_) first = std::min(first, next);
  return first;
}

// Numbers the units that begin by `until` on the SMs that are due, in order of time; residents for which none is left
// end. None begins before `from`.
void KernelRun::number_starts(std::span<const std::uint32_t> due, Nanoseconds from, Nanoseconds until) {
  const auto end = [&](std::uint32_t resident, Nanoseconds time) {
    ++idle_residents_;
    end_ = std::max(end_, time);
    residents_[resident].ended = true;
  };
  const bool any_left = next_unit_ != work_.units;  // if so, the slice is short
  begins_.clear();
  for (const std::uint32_t sm : due) {
    const TurnQueue& starts = sms_[sm].starts;
    for (std::uint32_t i = 0; i != starts.size() && starts[i].ready <= until; ++i) {
      const Turn& start = starts[i];
      if (residents_[start.resident].has_unit) continue;
      if (any_left) {
        begins_.push_back(static_cast<std::uint64_t>((start.ready - from).value) << kBeginResidentBits |
                          start.resident);
      } else {
        end(start.resident, start.ready);
      }
    }
  }
  std::sort(begins_.begin(), begins_.end());
  for (const std::uint64_t begin : begins_) {
    const auto resident = static_cast<std::uint32_t>(begin & ((1u << kBeginResidentBits) - 1));
    if (!take_unit(resident)) end(resident, from + Nanoseconds(static_cast<std::int64_t>(begin >> kBeginResidentBits)));
  }
}

// Calls f<kind_>().
template <class F>
void KernelRun::with_units(F&& f) {
  switch (kind_) {
    case Units::kOneStep:
      return f.template operator()<Units::kOneStep>();
    case Units::kPlainSlices:
      return f.template operator()<Units::kPlainSlices>();
    case Units::kTiles:
      return f.template operator()<Units::kTiles>();
    case Units::kOther:
      return f.template operator()<Units::kOther>();
  }
}

// Lets the SMs compute up to `until`, or for a slice so short that most units that begin in it are numbered before it.
// Units that end and begin again within the slice are numbered by the next one and begin a little late. Returns false
// if no SM has an event by then.
bool KernelRun::run_slice(Nanoseconds until) {
  const Nanoseconds first = earliest();
  if (first > until || first == kNever) return false;
  if (next_unit_ != work_.units) {
    until = std::min(until, first + std::max(block_start_ * 2 - Nanoseconds(1), Nanoseconds{}));
  }
  std::uint32_t* end = due_.data();
  for (std::uint32_t sm = 0; sm < sm_count_; ++sm) {
    *end = sm;
    end += next_[sm] <= until;
  }
  const std::span<const std::uint32_t> due(due_.data(), end);
  number_starts(due, first, until);
  with_units([&]<Units kUnits>() {
    for (const std::uint32_t sm : due) run<kUnits>(sm, until);
  });
  return true;
}

// Puts the raw faults that arrive by `until` into the buffer; beyond `enough` they are only counted.
void KernelRun::fill_buffer(Nanoseconds until, std::uint32_t enough) {
  fault_unit_->take(until, [&](Nanoseconds arrival, std::uint32_t sm, const gpu::RequestRun& run) {
    const bool write = run.kind == gpu::RequestKind::kStore || run.kind == gpu::RequestKind::kStoreLane;
    counters_.overflowed_faults +=
        buffer_.put({arrival + away_, run.page, sm, write ? gmmu::FaultAccess::kWrite : gmmu::FaultAccess::kRead});
    return buffer_.size() < enough;
  });
  if (buffer_.size() < enough) return;
  const std::uint64_t more = fault_unit_->skip(until);
  if (more != 0) counters_.overflowed_faults += buffer_.put_behind(until + away_, static_cast<std::uint32_t>(more));
}

void KernelRun::advance(Nanoseconds until, std::uint32_t enough) { compute(own(until), enough); }

void KernelRun::compute(Nanoseconds until, std::uint32_t enough) {
  find_pages();
  horizon_ = until;
  while (run_slice(until)) {
  }
  fill_buffer(until, enough);
}

std::uint32_t KernelRun::advance_skipping(Nanoseconds until) {
  until = own(until);
  find_pages();
  horizon_ = until;
  while (run_slice(until)) {
  }
  return static_cast<std::uint32_t>(fault_unit_->skip(until));
}

void KernelRun::advance_to_fault(Nanoseconds until) {
  until = own(until);
  find_pages();
  const Nanoseconds wakeup = ns(system_.costs.wakeup_ns);
  while (buffer_.empty()) {
    const Nanoseconds arrival = std::min(fault_unit_->next_arrival(), until);
    const Nanoseconds first = earliest();
    if (first <= arrival && first != kNever) {
      horizon_ = std::min(until, first + wakeup);
      run_slice(arrival);
      continue;
    }
    fill_buffer(arrival, kAll);
    return;
  }
}

void KernelRun::suspend(Nanoseconds now) {
  UVMSIM_CHECK(suspended_at_ == Nanoseconds(INT64_MAX), "suspended at {} ns already", suspended_at_.value);
  compute(own(now), kAll);
  suspended_at_ = now;
}

void KernelRun::resume(Nanoseconds now) {
  away_ += now - suspended_at_;
  suspended_at_ = Nanoseconds(INT64_MAX);
}

void KernelRun::begin_section() {
  const SectionRun& section = sections_[next_section_];
  section_end_ = section.first_unit + section.units;
  slices_.clear();
  for (const Operand& operand : section.operands) {
    slices_.push_back({{0, operand.pages, section.units}, operand.contiguous ? operand.first_index : Share::kSplit});
  }
  look_at_operands();
}

// Computes the shares of the next unit, in kernels of slices.
inline void KernelRun::plan_slices(const SectionRun& section, Share* share) {
  const Operand* operand = section.operands.data();
  for (NextSlice& slice : slices_) {
    share->begin = slice.begin.value();
    slice.begin.advance();
    share->end = slice.begin.value() + (slice.begin.exact() ? 0 : 1);  // a page that two slices share belongs to both
    if (slice.first_index != Share::kSplit) {
      share->first_index = slice.first_index + share->begin;
    } else {
      const Stretch* stretch = &operand->stretches[slice.stretch];
      for (; stretch->ordinal + stretch->count <= share->begin; ++stretch) ++slice.stretch;
      const std::uint64_t into = share->begin - stretch->ordinal;
      share->first_index = share->end <= stretch->ordinal + stretch->count ? stretch->index + into : Share::kSplit;
    }
    ++share;
    ++operand;
  }
}

// Computes the shares of the resident's new unit, in patterns that use them (slices and tiles).
inline void KernelRun::plan_shares(std::uint32_t index) {
  const Resident& resident = residents_[index];
  Share* share = shares_of(index);
  const SectionRun& section = *resident.section;
  if (work_.pattern == Pattern::kSlices) {
    plan_slices(section, share);
  } else if (work_.pattern == Pattern::kTiles) {
    plan_marches(work_, section, resident.unit - section.first_unit, share);
  } else {
    std::fill_n(share, section.operands.size(), Share{});  // another kernel's
  }
}

// A part of a slice has accesses if the section watches operands of its kind. Small outputs are stored in the last step
// only.
template <KernelRun::Units kUnits>
inline bool KernelRun::issue_slice(const SectionRun& section, Resident& resident, Nanoseconds& now) const {
  const std::uint32_t step = kUnits == Units::kOneStep ? 0 : resident.step;
  const std::uint32_t last = kUnits == Units::kOneStep ? 0 : section.steps - 1;
  if (!resident.storing) {
    if (!section.watched_inputs.empty()) return true;
    resident.storing = true;
    if (section.load_time != Nanoseconds{}) now += latency(resident, step);
    if (step != last && !section.early_stores) {  // nothing before the last step
      now += (section.after_loads() + section.load_time) * (last - step);
      resident.step = last;
    }
    now += paced(resident, section.compute());
  }
  if (kUnits == Units::kOneStep) return !section.watched_outputs.empty();
  return section.early_stores || (resident.step == last && !section.watched_outputs.empty());
}

// Tiles load in all steps but the last, and store in that.
inline bool KernelRun::issue_tile(const SectionRun& section, Resident& resident, const Share* shares,
                                  Nanoseconds& now) const {
  const std::uint32_t last = section.steps - 1;
  if (!resident.storing) {
    if (!section.watched_inputs.empty()) {
      const std::uint32_t next = next_loading_step(section, resident.step, shares);
      now += (paced(resident, section.after_loads()) + section.load_time) * (next - resident.step);
      resident.step = next;
      return next != last;
    }
    resident.storing = true;
    now += section.load_time + paced(resident, work_.step) * (last - resident.step);  // the march finds all mapped
    resident.step = last;
  }
  return resident.step == last && !section.watched_outputs.empty();
}

inline bool KernelRun::issue_other(const SectionRun& section, Resident& resident, const Share* shares,
                                   Nanoseconds& now) const {
  const bool explicit_list = work_.explicit_touches;
  if (!resident.storing && !explicit_list && section.watched_inputs.empty()) {
    resident.storing = true;
    if (section.load_time != Nanoseconds{}) now += latency(resident, resident.step);
    now += paced(resident, section.compute());
  }
  const bool any =
      has_pages(work_, section, resident.unit - section.first_unit, resident.step, resident.storing, shares);
  if (explicit_list) (resident.storing ? resident.stored : resident.loaded) = any;
  return any;
}

// Watches the present section's operands that are not fully mapped. The others need no check per step until a page is
// unmapped.
void KernelRun::look_at_operands() {
  ++view_;
  SectionRun& section = sections_[next_section_];
  section.watch([&](std::uint32_t i) { return beside_others_ || !operand_mapped(section, i); });
}

void KernelRun::watch_again() {
  unmap_epoch_ = space_.unmap_epoch(gpu_);
  unmapped_ = false;
  for (; watching_from_ < next_section_; ++watching_from_) {
    sections_[watching_from_].watch([](std::uint32_t) { return true; });
  }
  look_at_operands();
}

// A single warp with a list of touches waits for each of them; several warps overlap touches with the compute of
// others.
void KernelRun::plan_turns() {
  const config::RuntimeCosts& costs = system_.runtime;
  const bool lone = work_.explicit_touches && work_.resident_units == 1;
  waits_for_stores_ = lone;
  load_time_ = lone || as_recorded_ ? Nanoseconds{} : ns(costs.load_ns);
  load_times_[true] = load_time_;
  if (load_time_ != Nanoseconds{}) {
    const auto around = [](std::uint64_t mean_ns, std::int64_t percent) {
      const auto mean = static_cast<std::int64_t>(mean_ns);
      const std::int64_t most = mean * percent / 100;
      return Times{mean - most, 2 * most};
    };
    // Of n evenly distributed times the largest is in the mean 1 / (n + 1) of their range below the longest.
    const auto slowest = [&](const Times& times) {
      const std::int64_t range = times.range * 2 / (work_.awaited_loads + 1);
      return Times{times.least + times.range - range, range};
    };
    first_latencies_ = slowest(around(costs.first_load_ns, 45));
    latencies_ = slowest(around(costs.load_ns, 25));
    migrated_load_time_ = ns(costs.migrated_load_ns);
  }
  const auto of = [&](Nanoseconds step, bool stored, bool loaded) {
    const std::uint64_t turn = lone
                                   ? (loaded ? costs.touch_ns : costs.touch_write_ns)
                                   : (stored ? costs.store_ns : 0) + (stored && loaded ? costs.load_after_store_ns : 0);
    if (as_recorded_ && !lone) return work_.step;
    return std::max(step - std::min(step, load_times_[loaded]), ns(turn));
  };
  for (const bool stored : {false, true}) {
    for (const bool loaded : {false, true}) turn_times_[stored][loaded] = of(work_.computing, stored, loaded);
  }
  const std::int64_t residents = (work_.resident_units + sm_count_ - 1) / sm_count_;
  pass_step_ = as_recorded_ || lone ? Nanoseconds{} : work_.transferring;
  for (SectionRun& section : sections_) {
    const auto writes = [](const Operand& operand) { return operand.write; };
    const bool stores = std::any_of(section.operands.begin(), section.operands.end(), writes);
    const bool loads = !std::all_of(section.operands.begin(), section.operands.end(), writes);
    const bool again = loads && work_.pattern != Pattern::kPlanes;
    section.load_time = load_times_[loads];
    section.turn_time = turn_times_[stores][again];
    section.idle_turn_time = of(work_.step, stores, again);
    section.step_time = std::max(section.load_time + section.turn_time, pass_step_ * residents);
    // Results are stored when they are computed; a tile computes from step to step, and a list knows no stores ahead.
    if (stores && work_.pattern != Pattern::kTiles && !work_.explicit_touches && !as_recorded_) {
      const Nanoseconds least = of(Nanoseconds{}, stores, again);
      section.compute_time = section.turn_time - least;
      section.turn_time = least;
    }
  }
  if (as_recorded_) return;
  block_start_ = ns(costs.block_start_ns);
}

// Determines the sizes of a warp's accesses, and the time that requests take which find their pages mapped.
void KernelRun::plan_requests() {
  constexpr std::uint32_t kFloat4 = 16 * kWarpThreads;  // bytes of a warp
  const std::uint32_t instruction = work_.access_bytes * kWarpThreads;
  for (SectionRun& section : sections_) {
    section.sizes.assign(std::max<std::size_t>(1, section.operands.size()), AccessSize{});
    if (work_.pattern == Pattern::kPlanes) {
      const std::uint64_t plane = section.longest * kBasePageBytes / section.units / work_.images;
      const auto bytes = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(plane, 4, kFloat4));
      section.sizes.assign(section.sizes.size(), {bytes, bytes});
    } else if (work_.pattern == Pattern::kStride) {
      section.sizes.assign(section.sizes.size(), {instruction, instruction});
    } else if (plain(kind_)) {
      // Warps access the operands as often, the smaller ones by fewer bytes.
      const auto of_warp = [&](std::uint64_t pages) {
        const std::uint64_t bytes = pages * kBasePageBytes / section.units / section.steps / work_.warps;
        return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes, 4, 2 * kFloat4));
      };
      const std::uint32_t most = of_warp(section.longest);
      const std::uint32_t instructions = (most + instruction - 1) / instruction;
      for (std::size_t i = 0; i < section.operands.size(); ++i) {
        const std::uint32_t bytes = of_warp(section.operands[i].pages);
        AccessSize& size = section.sizes[i];
        size = {bytes, std::max(1u, std::min(instruction, bytes / instructions))};
        size.instruction_requests = instruction_requests(size, section.operands[i].write);
        size.page_requests = requests(work_.warps, size, section.operands[i].write);
      }
    }
  }
  if (as_recorded_ || waits_for_stores_) return;
  const std::uint32_t warp_bytes = sections_.front().sizes.front().warp_bytes;
  pass_time_ = Nanoseconds(2);  // 128 bytes of loads and 64 of stores per ns
  const auto bytes_of_part = static_cast<std::int64_t>(std::uint64_t{warp_bytes} * work_.warps);
  burst_times_[false] = pass_time_ * (bytes_of_part / static_cast<std::int64_t>(kLoadBytes));
  burst_times_[true] = pass_time_ * (bytes_of_part / static_cast<std::int64_t>(kStoreBytes));
}

// Returns how long a part that passes keeps its SM's load/store unit.
Nanoseconds KernelRun::pass_time(const SectionRun& section, bool storing, Nanoseconds running) const {
  constexpr Nanoseconds kBurst(4000);
  if (running < kBurst) return std::min(pass_step_, burst_times_[storing]);
  const bool both = !section.watched_inputs.empty() && !section.watched_outputs.empty();
  return both && section.early_stores ? pass_step_ / 2 : pass_step_;
}

// Returns the time from a load to its data, a hash of unit and step.
inline Nanoseconds KernelRun::latency(const Resident& resident, std::uint32_t step) const {
  const Times& times = step == 0 ? first_latencies_ : latencies_;
  const std::uint64_t hash = mixed_bits(resident.unit * 0x9e3779b97f4a7c15u + step + 1);
  return Nanoseconds(times.least + static_cast<std::int64_t>(hash >> 40) * times.range / (1 << 24));
}

// Returns the time up to which all parts in the SM's queue are known to find their pages mapped.
Nanoseconds KernelRun::others_clear_until(const SmQueue& sm) const {
  Nanoseconds until = sm.starts.next_ready();
  for (std::uint32_t i = 0; i != sm.parts.size(); ++i) {
    const Turn& turn = sm.parts[i];
    const Resident& resident = residents_[turn.resident];
    Nanoseconds clear = turn.ready;
    if (is_clear(resident) && !resident.storing) {
      const SectionRun& section = *resident.section;
      const bool stores_too = work_.accesses_per_page != 0 ? !section.watched_outputs.empty() : section.early_stores;
      const std::uint32_t end = stores_too ? std::min(resident.clear[0], resident.clear[1]) : resident.clear[0];
      if (end > resident.step) clear += section.step_time * (end - resident.step);
    }
    until = std::min(until, clear);
  }
  return until;
}

// Call when the resident's loads pass at `now`. Skips the next steps that are known to pass before any mapping can
// change. Returns false if there are none.
bool KernelRun::skip_clear_steps(SmQueue& sm, std::uint32_t index, Nanoseconds now) {
  Resident& resident = residents_[index];
  if (!knows_clear_steps(resident)) return false;
  const SectionRun& section = *resident.section;
  std::uint32_t end = std::min(resident.clear[0], section.steps - 1);
  const bool stores_too = work_.accesses_per_page != 0 ? !section.watched_outputs.empty()
                                                       : section.early_stores && work_.pattern != Pattern::kTiles;
  if (stores_too) end = std::min(end, resident.clear[1]);
  if (end <= resident.step + 1) return false;
  const Nanoseconds limit = std::min(horizon_, others_clear_until(sm));
  if (limit <= now) return false;
  const Nanoseconds step = section.step_time;
  const auto steps = static_cast<std::uint32_t>(
      std::min<std::int64_t>(end - resident.step, step.value == 0 ? end : (limit - now).value / step.value));
  if (steps == 0) return false;
  resident.step += steps;
  now += step * steps;
  go_on(sm, index, now, false);
  return true;
}

template <KernelRun::Units kUnits>
void KernelRun::go_on(SmQueue& sm, std::uint32_t index, Nanoseconds now, bool done) {
  Resident& resident = residents_[index];
  const SectionRun& section = *resident.section;
  // Steps of a list differ in whether they load and store.
  const bool listed = kUnits == Units::kOther && work_.explicit_touches;
  for (;; done = true) {
    if (done) {
      const bool loaded = !resident.storing;
      if (loaded) {
        resident.storing = true;
        if (listed ? resident.loaded : section.load_time != Nanoseconds{}) now += migrated_load_time_;
        now += paced(resident, section.compute());
      }
      // Tiles store in the last step only.
      if (!loaded || (kUnits == Units::kTiles && resident.step + 1 != section.steps)) {
        now += listed                    ? turn_times_[resident.stored][resident.loaded]
               : kUnits == Units::kTiles ? paced(resident, section.turn())
                                         : section.turn();
        if (kUnits == Units::kOneStep) return end_unit(sm, index, now);
        resident.storing = resident.stored = resident.loaded = false;
        if (++resident.step == section.steps) return end_unit(sm, index, now);
      }
    }
    notice_unmaps();
    const bool any = plain(kUnits)             ? issue_slice<kUnits>(section, resident, now)
                     : kUnits == Units::kTiles ? issue_tile(section, resident, shares_of(index), now)
                                               : issue_other(section, resident, shares_of(index), now);
    if (!any) continue;
    resident.pending = 1;
    return sm.parts.add({now, index});
  }
}

template void KernelRun::go_on<KernelRun::Units::kOneStep>(SmQueue&, std::uint32_t, Nanoseconds, bool);
template void KernelRun::go_on<KernelRun::Units::kPlainSlices>(SmQueue&, std::uint32_t, Nanoseconds, bool);
template void KernelRun::go_on<KernelRun::Units::kTiles>(SmQueue&, std::uint32_t, Nanoseconds, bool);
template void KernelRun::go_on<KernelRun::Units::kOther>(SmQueue&, std::uint32_t, Nanoseconds, bool);

void KernelRun::go_on(SmQueue& sm, std::uint32_t index, Nanoseconds now, bool done) {
  with_units([&]<Units kUnits>() { go_on<kUnits>(sm, index, now, done); });
}

}  // namespace uvmsim::engine
