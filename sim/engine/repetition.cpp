// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/repetition.h"

#include <algorithm>

#include "sim/engine/settled.h"

namespace uvmsim::engine {

void Repetition::before() {
  if (process_.feed.repetitions_left() == 0) return;
  if (process_.machine.programs == 1) look_for_recurrence();  // states of several programs hardly ever recur together
  if (stops_when_settled() && has_settled()) process_.feed.leave_out(process_.feed.repetitions_left());
}

// Leaves out iterations that recur. With an event sink all iterations are replayed, and the recurrence is reported.
void Repetition::look_for_recurrence() {
  RunResult& result = process_.result;
  Recurrence& recurrence = iterations_.recurrence();
  const bool replays_all = process_.observer.events != nullptr || process_.options.replay_all || stops_when_settled();
  if (replays_all && result.recurring) return;
  const auto state = digest_of_state();
  if (!state) return recurrence.forget();
  const Recurrence::Earlier earlier = recurrence.find(*state);
  if (earlier.moment != nullptr) {
    if (!result.recurring) {
      result.recurring = {iterations_.first_like_later_ones(*earlier.moment, streams_.pending_end()),
                          earlier.repetitions};
    }
    const std::uint64_t times = process_.feed.repetitions_left() / earlier.repetitions;
    if (times != 0 && !replays_all) return leave_out(earlier, times);
  }
  recurrence.remember({*state, host_.time(), host_.ideal().end(), host_.records(), result.iterations.size(),
                       process_.machine.ledger.released_pages, result.counters, result.misfits, std::nullopt});
}

// A policy that knows the future was given all iterations, so all must run.
bool Repetition::stops_when_settled() const {
  return process_.options.until_settled && !driver_.policies().knows_future();
}

bool Repetition::has_settled() {
  RunResult& result = process_.result;
  const auto passes = process_.feed.passes();
  result.first_repeated = passes.first;
  result.repeated = result.iterations.size() - std::min<std::size_t>(result.iterations.size(), passes.first);
  return result.repeated > 1 && find_settled(result).has_value();
}

std::optional<StateDigest::Value> Repetition::digest_of_state() {
  if (!driver_.comparable()) return std::nullopt;
  Machine& machine = process_.machine;
  StateDigest digest(host_.time());
  const std::optional<std::size_t> scheduled = streams_.add_state(digest, host_.ideal());
  if (!scheduled || machine.events.size() != *scheduled) return std::nullopt;
  host_.add_state(digest);
  machine.space.add_state(digest);
  machine.topology.add_state(digest);
  layout_.add_state(digest);
  driver_.add_state(digest);
  return digest.value();
}

void Repetition::leave_out(const Recurrence::Earlier& found, std::uint64_t times) {
  const Moment& earlier = *found.moment;
  std::uint64_t& released = process_.machine.ledger.released_pages;
  iterations_.leave_out(found, times, streams_.pending_end(), host_.time(), host_.ideal().end());
  released += (released - earlier.released_pages) * times;
  for (auto& [name, launches] : process_.result.misfits) {
    const auto before = earlier.misfits.find(name);
    launches += (launches - (before == earlier.misfits.end() ? 0 : before->second)) * times;
  }
  host_.leave_out((host_.records() - earlier.records) * times);
  process_.feed.leave_out(found.repetitions * times);
  iterations_.recurrence().forget();
}

}  // namespace uvmsim::engine
