// SPDX-License-Identifier: Apache-2.0
#include "sim/conformance/told_state.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <utility>

namespace uvmsim::conformance {
namespace {

using policy::InformationClass;

// The number of futures, the number of lives per future over all variants, and their length.
struct Effort {
  std::uint64_t futures, lives, steps;
};
constexpr Effort kOfTheGiven{4, 3000, 64};
constexpr Effort kOfAnExtreme{1, 120, 48};

// Lives after which the check gives up if all of them refused to be compared.
constexpr std::uint64_t kRefusals = 16;

struct Tally {
  std::uint64_t lives = 0, compared = 0, refused = 0;
};

// Limits the CPU time of all lives: a policy that is slow to create gets fewer.
class Budget {
 public:
  explicit Budget(unsigned seconds) : end_(std::clock() + std::clock_t(seconds) * CLOCKS_PER_SEC) {}
  bool spent() const { return std::clock() >= end_; }

 private:
  std::clock_t end_;
};

struct Past {
  std::uint64_t number = 0, steps = 0;
  std::vector<Life::Answer> answers;  // to the calls after it
};

// Most histories are short, so that their states meet. Some are long, for policies that count.
std::uint64_t length_of_past(Random& random) {
  constexpr std::uint64_t kLongest[] = {4, 4, 8, 8, 8, 8, 16, 16, 16, 64, 64, 512};
  return random.below(kLongest[random.below(std::size(kLongest))]);
}

void compare(const Past& one, const Past& other) {
  const std::size_t both = std::min(one.answers.size(), other.answers.size());
  std::size_t same = 0;
  while (same < both && one.answers[same] == other.answers[same]) ++same;
  if (same == both && one.answers.size() == other.answers.size()) return;
  const char* hook = same < one.answers.size() ? one.answers[same].hook : other.answers[same].hook;
  throw Wrong(
      fmt::format("two histories (of {} and of {} calls, numbers {} and {}) end in the same state, but of what comes "
                  "then {}() answers call {} otherwise: add_state does not tell all that its answers depend on",
                  one.steps, other.steps, one.number, other.number, hook, same + 1));
}

void live(const policy::GivenParameters& given, std::uint64_t seed, std::uint64_t variant, const Effort& effort,
          const Birth& birth, const policy::Future& known, const Budget& budget, Tally& tally) {
  const std::uint64_t lives_before = tally.lives, refused_before = tally.refused;
  for (std::uint64_t future = 0; future < effort.futures; ++future) {
    std::map<std::pair<std::uint64_t, std::uint64_t>, Past> by_state;
    for (std::uint64_t number = 0; number < effort.lives; ++number) {
      const std::uint64_t refused = tally.refused - refused_before;
      if (budget.spent() || (refused >= kRefusals && refused == tally.lives - lives_before)) return;
      const std::unique_ptr<Life> life = birth(given, known, variant);
      Random random((seed * 1009 + future) * 100003 + number);
      Past past{number, length_of_past(random), {}};
      life->draw_from(random.next());
      for (std::uint64_t i = 0; i < past.steps; ++i) life->step();
      life->settle();
      ++tally.lives;
      StateDigest digest(life->now());
      life->add_state(digest);
      const auto state = digest.value();
      if (!state) {
        ++tally.refused;
        continue;
      }
      life->forget_answers();
      life->draw_from(seed * 7919 + future);
      for (std::uint64_t i = 0; i < effort.steps; ++i) life->step();
      past.answers = life->answers();
      const auto [met, is_new] = by_state.try_emplace({state->high, state->low}, past);
      if (is_new) continue;
      ++tally.compared;
      compare(met->second, past);
    }
  }
}

}  // namespace

void Listening::kernel(Random& random, Nanoseconds now) {
  if (!hears(InformationClass::kD3)) return;
  constexpr const char* kNames[] = {"add", "multiply"};
  const char* name = kNames[random.below(2)];
  if (random.below(2) == 0) layer_ = 0;  // an iteration begins
  listener_->on_kernel({name, layer_++, 1 + random.below(2), 128, now});
}
void Listening::faults(std::uint32_t process, Nanoseconds now, std::span<const policy::FaultRecord> faults) {
  if (hears(InformationClass::kD0)) listener_->on_faults({process, now, faults});
}
void Listening::used(BlockIndex block, const PageMask& pages) {
  if (hears(InformationClass::kD2) && !pages.empty()) listener_->on_prefetch_used(block, pages);
}
void Listening::wasted(BlockIndex block, const PageMask& pages) {
  if (hears(InformationClass::kD2) && !pages.empty()) listener_->on_prefetch_wasted(block, pages);
}

std::string check_told_state(const policy::PolicyEntry& entry, const CheckOptions& options, std::uint64_t variants,
                             const Birth& birth) {
  const policy::Future known = random_future(options.seed);
  Tally tally;
  const Budget budget(std::max(1u, options.limits.cpu_seconds / 3));
  bool is_given = true;
  const std::string settings = try_parameters(entry, options, [&](const policy::GivenParameters& given) {
    if (!is_given && tally.refused == tally.lives) return;
    for (std::uint64_t variant = 0; variant < variants; ++variant) {
      Effort effort = is_given ? kOfTheGiven : kOfAnExtreme;
      effort.lives = effort.lives * options.programs / (CheckOptions{}.programs * variants);
      live(given, options.seed, variant, effort, birth, known, budget, tally);
    }
    is_given = false;
  });
  if (tally.refused == tally.lives) return "the policy does not tell its state, so every iteration is replayed";
  return fmt::format("{} histories with {}; {} of them ended as another one had, {} in states that are not compared{}",
                     tally.lives, settings, tally.compared, tally.refused,
                     budget.spent() ? "; not all, because time ran out" : "");
}

}  // namespace uvmsim::conformance
