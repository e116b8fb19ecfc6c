// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/thrashing.h"

#include <algorithm>
#include <array>

namespace uvmsim::driver {

namespace {

constexpr Nanoseconds kNever(-1);
constexpr std::uint8_t kMostEvents = 7;  // a field of three bits in the driver
constexpr std::uint8_t kMostThrottles = 255;
constexpr int kVotesToChange = 32;  // uvm_perf_lapse_vote_threshold
constexpr Nanoseconds kLongestLapse(500000000);

Nanoseconds ns(std::uint64_t n) { return Nanoseconds(static_cast<std::int64_t>(n)); }

}  // namespace

struct Thrashing::Page {
  Nanoseconds last = kNever;  // time of the last event
  Nanoseconds throttle_end{};
  Nanoseconds pin_deadline = kNever;  // identifies the pin in pins_
  std::uint32_t processors = 0;       // bits of the processors that contend for the page
  std::uint32_t throttled = 0;        // bits; subset of processors
  std::uint8_t events = 0;            // events that followed the previous one within a lapse
  std::uint8_t throttles = 0;
  bool revoked = false;                  // an event revoked a write permission
  ProcessorId winner = kNoProcessor;     // not throttled in this window
  ProcessorId pinned_at = kNoProcessor;  // kNoProcessor: not pinned
};

struct Thrashing::Tracked {
  std::unique_ptr<std::array<Page, kPagesPerBlock>> pages;  // null after a reset of the whole block
  PageMask thrashing;
  PageMask pinned;
  Nanoseconds last_thrashing = kNever;  // last event of a thrashing page
  bool ever_pinned = false;
  std::uint32_t resets = 0;
};

Thrashing::Thrashing(DriverContext& context) : Thrashing(context, AccessMatrix(context.topology)) {}

Thrashing::Thrashing(DriverContext& context, const AccessMatrix& access)
    : context_(context),
      access_(access),
      enabled_(context.system.driver.thrashing_enable),
      lapse_(ns(context.system.driver.thrashing_lapse_ns)),
      tracked_(1) {}

Thrashing::~Thrashing() = default;

Thrashing::Tracked* Thrashing::find(BlockIndex b) const {
  const Stamp* const stamp = stamps_.find(b.value);
  if (stamp == nullptr) return nullptr;
  Tracked* const tracked = tracked_[stamp->tracking].get();
  return tracked != nullptr && tracked->pages ? tracked : nullptr;
}

bool Thrashing::tracks(BlockIndex b) const { return find(b) != nullptr; }

PageMask Thrashing::pages(BlockIndex b) const {
  const Tracked* const tracked = find(b);
  return tracked == nullptr ? PageMask{} : tracked->thrashing;
}

PageMask Thrashing::pinned(BlockIndex b) const {
  const Tracked* const tracked = find(b);
  return tracked == nullptr ? PageMask{} : tracked->pinned;
}

ProcessorId Thrashing::pin_location(BlockIndex b, unsigned page) const {
  const Tracked* const tracked = find(b);
  return tracked == nullptr ? kNoProcessor : (*tracked->pages)[page].pinned_at;
}

Thrashing::Tracked& Thrashing::create(Stamp& stamp) {
  if (stamp.tracking == 0) {
    if (free_.empty()) {
      stamp.tracking = static_cast<std::uint32_t>(tracked_.size());
      tracked_.emplace_back();
    } else {
      stamp.tracking = free_.back();
      free_.pop_back();
    }
    tracked_[stamp.tracking] = std::make_unique<Tracked>();
  }
  Tracked& tracked = *tracked_[stamp.tracking];
  tracked.pages = std::make_unique<std::array<Page, kPagesPerBlock>>();
  return tracked;
}

void Thrashing::on_migration(BlockIndex b, const PageMask& pages, ProcessorId destination, Nanoseconds now) {
  note(b, pages, destination, now, Event::kMigration);
}

// The driver reports a GPU's loss twice: of the permission to write, and of the permission for atomics, which it
// includes.
void Thrashing::on_revocation(BlockIndex b, const PageMask& pages, ProcessorId processor, Nanoseconds now) {
  note(b, pages, processor, now, Event::kRevocation);
  if (processor.is_gpu()) note(b, pages, processor, now, Event::kRevocation);
}

void Thrashing::note(BlockIndex b, const PageMask& pages, ProcessorId destination, Nanoseconds now, Event event) {
  if (!enabled_ || pages.empty()) return;
  Stamp& stamp = stamps_[b.value];
  Tracked* tracked = find(b);
  PageMask counted = pages;
  if (tracked != nullptr && event == Event::kMigration) {
    counted -= tracked->pinned;
    if (counted.empty()) return;
  }
  const bool bounced = stamp.last != kNever && stamp.processor != destination && now - stamp.last <= lapse_;
  stamp.last = now;
  stamp.processor = destination;
  if (tracked == nullptr) {
    if (!bounced) return;
    tracked = &create(stamp);
  }
  const std::uint32_t threshold = context_.system.driver.thrashing_threshold;
  counted.for_each([&](unsigned index) {
    Page& page = (*tracked->pages)[index];
    const Nanoseconds before = page.last;
    page.processors |= destination.bit();
    page.last = now;
    if (before == kNever) return;
    if (now - before > lapse_) {
      if (page.events >= threshold && page.pinned_at.is_none()) reset_page(*tracked, index);
      return;
    }
    page.revoked = page.revoked || event == Event::kRevocation;
    if (page.events < kMostEvents) {
      ++page.events;
      if (page.events == threshold) {
        tracked->thrashing.set(index);
        ++context_.counters.thrashing_pages;
        if (context_.events != nullptr) context_.events->on(ThrashingEvent{now, virtual_address(b, index)});
      }
    }
    if (page.events >= threshold) tracked->last_thrashing = now;
  });
}

// The throttle count and the winner survive, as in the driver.
void Thrashing::reset_page(Tracked& tracked, unsigned index) {
  Page& page = (*tracked.pages)[index];
  if (page.throttled != 0) page.throttle_end = Nanoseconds{};
  page.throttled = 0;
  page.pinned_at = kNoProcessor;
  page.pin_deadline = kNever;
  page.last = kNever;
  page.events = 0;
  page.revoked = false;
  page.processors = 0;
  tracked.thrashing.reset(index);
  tracked.pinned.reset(index);
}

PageMask Thrashing::reset(BlockIndex b, const PageMask& pages) {
  Tracked* const tracked = find(b);
  if (tracked == nullptr) return {};
  const PageMask pinned = tracked->pinned & pages;
  (tracked->thrashing & pages).for_each([&](unsigned index) { reset_page(*tracked, index); });
  return pinned;
}

void Thrashing::forget(BlockIndex b) {
  Stamp* const stamp = stamps_.find(b.value);
  if (stamp == nullptr) return;
  if (stamp->tracking != 0) {
    tracked_[stamp->tracking].reset();
    free_.push_back(stamp->tracking);
  }
  *stamp = Stamp{};
}

// Returns whether tracking of the block ends: after an epoch without thrashing, unless a page was ever pinned.
bool Thrashing::over(const Tracked& tracked, Nanoseconds now) const {
  const config::DriverConfig& config = context_.system.driver;
  return tracked.last_thrashing != kNever && now - tracked.last_thrashing > ns(config.thrashing_epoch_ns) &&
         !tracked.ever_pinned && tracked.resets < config.thrashing_max_resets;
}

Thrashing::Verdict Thrashing::ask(BlockIndex b, const PageMask& pages, ProcessorId requester, Nanoseconds now) {
  Verdict verdict;
  Tracked* const tracked = find(b);
  if (tracked == nullptr) return verdict;
  if (over(*tracked, now)) {
    ++tracked->resets;
    tracked->pages.reset();
    tracked->thrashing.clear();
    tracked->last_thrashing = kNever;
    stamps_[b.value].last = kNever;
    stamps_[b.value].processor = kNoProcessor;
    return verdict;
  }
  const Nanoseconds pin_time = ns(context_.system.driver.thrashing_pin_ns);
  PageMask fresh;
  (pages & tracked->thrashing).for_each([&](unsigned index) {
    Page& page = (*tracked->pages)[index];
    const Hint answer = hint(b, index, page, requester, now);
    if (answer.kind == Hint::Kind::kThrottle) {
      throttle(page, requester);
      verdict.throttled.set(index);
      verdict.throttle_end = std::max(verdict.throttle_end, page.throttle_end);
      return;
    }
    if (answer.kind == Hint::Kind::kNone) return;
    const bool there = context_.space.pages(b, answer.location).resident.test(index);
    if ((page.pinned_at.is_none() || !there) && page.throttled != 0) {
      page.throttled = 0;
      page.throttle_end = Nanoseconds{};
    }
    if (page.pinned_at.is_none()) {
      page.throttles = 0;
      page.pin_deadline = now + pin_time;
      tracked->ever_pinned = true;
      tracked->pinned.set(index);
      fresh.set(index);
    }
    page.pinned_at = answer.location;
    PageMask& placed = answer.location == requester ? verdict.pinned_here
                       : answer.location.is_host()  ? verdict.pinned_to_host
                                                    : verdict.pinned_to_peer;
    placed.set(index);
    const std::uint32_t others =
        page.processors & access_.accessible_from(answer.location) & ~(answer.location.bit() | requester.bit());
    for (unsigned p = 0; p < access_.processor_count(); ++p) {
      const ProcessorId other{static_cast<std::uint8_t>(p)};
      if ((others & other.bit()) == 0) continue;
      auto entry = std::find_if(verdict.mappings.begin(), verdict.mappings.end(),
                                [&](const auto& mapping) { return mapping.processor == other; });
      if (entry == verdict.mappings.end()) entry = verdict.mappings.insert(entry, {other, PageMask{}});
      entry->pages.set(index);
    }
  });
  context_.counters.pins += fresh.count();
  if (!fresh.empty() && pin_time > Nanoseconds{}) pins_.push_back({now + pin_time, b, fresh});
  return verdict;
}

// Decides on one fault on a page that thrashes.
Thrashing::Hint Thrashing::hint(BlockIndex b, unsigned index, Page& page, ProcessorId requester, Nanoseconds now) {
  if ((page.throttled & requester.bit()) != 0) {
    if (now < page.throttle_end && page.winner != requester) return {Hint::Kind::kThrottle};
    page.throttled &= ~requester.bit();
    if (page.throttled == 0) page.throttle_end = Nanoseconds{};
  }
  vote(now - page.last);
  if (now - page.last > lapse_ && page.pinned_at.is_none()) return {};
  page.processors |= requester.bit();

  // A new throttle window has another winner than the previous one: the requester, or none yet.
  if (now > page.throttle_end) {
    page.throttle_end = now + ns(context_.system.driver.thrashing_nap_ns);
    page.winner = page.winner == requester ? kNoProcessor : requester;
  } else if (page.winner.is_none()) {
    page.winner = requester;
  }
  if (!page.pinned_at.is_none() && page.revoked && page.winner != requester) return {Hint::Kind::kThrottle};
  return migration_hint(b, index, page, requester);
}

Thrashing::Hint Thrashing::migration_hint(BlockIndex b, unsigned index, const Page& page, ProcessorId requester) const {
  const auto pin = [](ProcessorId location) { return Hint{Hint::Kind::kPin, location}; };
  const auto all_in = [&](std::uint32_t mask) { return (page.processors & ~mask) == 0; };
  const ProcessorId preferred = context_.space.part_of(b, index).hints.preferred;
  const bool won = page.winner == requester;
  const bool pinned = !page.pinned_at.is_none();
  const bool tired = page.throttles >= context_.system.driver.thrashing_pin_threshold;
  std::uint32_t resident = 0;
  for (unsigned p = 0; p < access_.processor_count(); ++p) {
    const ProcessorId id{static_cast<std::uint8_t>(p)};
    if (context_.space.pages(b, id).resident.test(index)) resident |= id.bit();
  }
  const ProcessorId holder = access_.closest(resident, requester);

  if (!preferred.is_none() && all_in(access_.accessible_from(preferred))) return pin(preferred);
  const bool preferred_fights = !preferred.is_none() && (page.processors & preferred.bit()) != 0;
  if (!preferred_fights && !holder.is_none() && all_in(access_.fast_from(holder))) {
    if (!holder.is_host()) return pin(holder);
    // The driver prefers that a coherent host maps the GPU's memory, not the reverse.
    return requester.is_gpu() ? pin(requester) : Hint{};
  }
  if (requester == preferred) {
    if (pinned) return page.pinned_at == preferred || won ? pin(preferred) : Hint{Hint::Kind::kThrottle};
    if (!won) return {Hint::Kind::kThrottle};
    return tired ? pin(preferred) : Hint{};
  }
  if (pinned) {
    if (won) {
      return pin(all_in(access_.accessible_from(requester)) ? requester : common_location(page.processors, requester));
    }
    if ((access_.accessible_from(page.pinned_at) & requester.bit()) != 0) return pin(page.pinned_at);
    return {Hint::Kind::kThrottle};
  }
  if (!won) return {Hint::Kind::kThrottle};
  return tired ? pin(requester) : Hint{};
}

// Returns the processor nearest to the requester whose memory all can map; the requester if there is none.
ProcessorId Thrashing::common_location(std::uint32_t processors, ProcessorId requester) const {
  std::uint32_t common = 0;
  for (unsigned p = 0; p < access_.processor_count(); ++p) {
    const ProcessorId id{static_cast<std::uint8_t>(p)};
    if ((processors & ~access_.accessible_from(id)) == 0) common |= id.bit();
  }
  const ProcessorId location = access_.closest(common, requester);
  return location.is_none() ? requester : location;
}

void Thrashing::throttle(Page& page, ProcessorId requester) {
  if ((page.throttled & requester.bit()) != 0) return;
  page.throttled |= requester.bit();
  ++context_.counters.throttles;
  if (page.pinned_at.is_none() && page.throttles < kMostThrottles) ++page.throttles;
}

// Drivers from 590 on adapt the lapse. As coded there, a signed vote is compared with an unsigned threshold, so that
// negative votes lengthen the lapse too; it shrinks only once it is at its maximum.
void Thrashing::vote(Nanoseconds gap) {
  if (!context_.system.driver.thrashing_adaptive_lapse) return;
  votes_ += gap >= lapse_ ? 1 : -1;
  if (lapse_ < kLongestLapse && (votes_ < 0 || votes_ >= kVotesToChange)) {
    lapse_ = std::min(lapse_ + lapse_ / 8, kLongestLapse);
    votes_ = 0;
  } else if (votes_ <= -kVotesToChange) {
    lapse_ -= lapse_ / 8;
    votes_ = 0;
  }
}

std::vector<Thrashing::Unpinned> Thrashing::expire(Nanoseconds now) {
  std::vector<Unpinned> unpinned;
  for (; pins_expired(now); pins_.pop_front()) {
    const Pin& pin = pins_.front();
    Tracked* const tracked = find(pin.block);
    if (tracked == nullptr) continue;
    PageMask pages;
    (pin.pages & tracked->pinned).for_each([&](unsigned index) {
      if ((*tracked->pages)[index].pin_deadline != pin.deadline) return;
      reset_page(*tracked, index);
      pages.set(index);
    });
    if (!pages.empty()) unpinned.push_back({pin.block, pages});
  }
  return unpinned;
}

void Thrashing::add_state(StateDigest& digest) const {
  const config::DriverConfig& config = context_.system.driver;
  const Nanoseconds lapse =
      (config.thrashing_adaptive_lapse ? std::max(lapse_, kLongestLapse) : lapse_) + Nanoseconds(1);
  const Nanoseconds epoch = ns(config.thrashing_epoch_ns) + Nanoseconds(1);
  const auto add_past = [&](Nanoseconds time, Nanoseconds forgotten) {
    digest.add(std::uint64_t{time == kNever});
    digest.add_past(time, forgotten);
  };
  digest.add(static_cast<std::uint64_t>(lapse_.value));
  if (config.thrashing_adaptive_lapse) digest.add(static_cast<std::uint64_t>(votes_));
  if (!pins_.empty()) digest.refuse();
  stamps_.for_each([&](std::uint64_t block, const Stamp& stamp) {
    if (stamp.last == kNever && stamp.tracking == 0) return;
    digest.add(block);
    digest.add(std::uint64_t{stamp.processor.index} << 1 | std::uint64_t{stamp.tracking != 0});
    add_past(stamp.last, lapse);
    if (stamp.tracking == 0) return;
    const Tracked& tracked = *tracked_[stamp.tracking];
    digest.add(std::uint64_t{tracked.resets} << 1 | std::uint64_t{tracked.ever_pinned});
    add_past(tracked.last_thrashing, epoch);
    add_mask(digest, tracked.thrashing);
    digest.add(std::uint64_t{tracked.pages != nullptr});
    if (tracked.pages == nullptr) return;
    for (const Page& page : *tracked.pages) {
      add_past(page.last, lapse);
      digest.add_future(page.throttle_end + Nanoseconds(1));
      digest.add(std::uint64_t{page.processors} << 32 | page.throttled);
      digest.add(std::uint64_t{page.events} << 32 | std::uint64_t{page.throttles} << 24 |
                 std::uint64_t{page.winner.index} << 16);
    }
  });
}

}  // namespace uvmsim::driver
