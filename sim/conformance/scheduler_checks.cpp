// SPDX-License-Identifier: Apache-2.0
// Checks schedulers on a random GPU: processes come, wait, and run out of work; memory moves between them.
#include <algorithm>

#include "sim/conformance/checks.h"

namespace uvmsim::conformance {
namespace {

using policy::PolicyEntry;
using policy::ProcessView;
using policy::Turn;

class RandomProcesses final : public policy::ScheduleQueries {
 public:
  explicit RandomProcesses(Random& random) : memory_(512 * (1 + random.below(64))) {
    const std::uint64_t count = 2 + random.below(6);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t most = random.below(memory_ + 1);
      all_.push_back({static_cast<std::uint32_t>(2 * i), false, {}, random.below(most + 1), most});
    }
  }

  // Advances time and lets a process wait; with `computes`, the one that computed last.
  void change(Random& random, bool computes) {
    now_ += Nanoseconds(static_cast<std::int64_t>(1 + random.below(5000000)));
    for (ProcessView& view : all_) {
      view.waits = random.below(2) == 0;
      view.resident_pages = random.below(view.most_resident_pages + 1);
    }
    if (computes) all_.back().waits = true;
    all_[random.below(all_.size() - 1)].waits = true;
  }
  // Gives the GPU to a process: the others come before it in the order of turns.
  void give(const Turn& turn) {
    const auto at =
        std::find_if(all_.begin(), all_.end(), [&](const ProcessView& view) { return view.process == turn.process; });
    at->computed += turn.length;
    std::rotate(all_.begin(), at + 1, all_.end());
  }

  Nanoseconds now() const override { return now_; }
  Nanoseconds time_slice() const override { return Nanoseconds(2000000); }
  std::span<const ProcessView> processes() const override { return all_; }
  std::uint64_t memory_pages() const override { return memory_; }
  Nanoseconds time_to_bring(std::uint64_t pages) const override {
    return Nanoseconds(static_cast<std::int64_t>(pages * 100));
  }

 private:
  std::uint64_t memory_;
  std::vector<ProcessView> all_;
  Nanoseconds now_{};
};

// One policy and its turns; every answer is checked.
std::vector<std::uint64_t> ask_for_turns(const PolicyEntry& entry, const policy::GivenParameters& given,
                                         std::uint64_t seed, std::uint64_t sequence, int turns) {
  Random random(sequence);
  RandomProcesses gpu(random);
  const std::shared_ptr<policy::Scheduler> scheduler = entry.create<policy::Scheduler>(given, seed, 64);
  std::vector<std::uint64_t> answers;
  std::vector<std::uint32_t> foreseen;
  for (int number = 1; number <= turns; ++number) {
    gpu.change(random, random.below(2) == 0);
    const auto all = gpu.processes();
    const auto view_of = [&](std::uint32_t process) {
      return std::find_if(all.begin(), all.end(), [&](const ProcessView& view) { return view.process == process; });
    };
    if (all.back().waits) {
      for (const ProcessView& view : all.first(all.size() - 1)) {
        if (view.waits) answers.push_back(scheduler->interrupts(view.process, all.back().process, gpu) ? 1 : 0);
      }
    }
    const Turn turn = scheduler->next(gpu);
    const auto chosen = view_of(turn.process);
    if (chosen == all.end() || !chosen->waits || turn.length <= Nanoseconds{}) {
      throw Wrong(fmt::format("turn {}: {} ns for process {}, {}", number, turn.length.value, turn.process,
                              chosen == all.end() ? "which is not on the GPU"
                              : chosen->waits     ? "which is no time"
                                                  : "which has nothing to compute"));
    }
    foreseen.clear();
    scheduler->forecast(gpu, foreseen);
    for (const std::uint32_t process : foreseen) {
      if (view_of(process) == all.end()) {
        throw Wrong(fmt::format("turn {}: foresees process {}, which is not on the GPU", number, process));
      }
      answers.push_back(process);
    }
    answers.push_back(turn.process);
    answers.push_back(static_cast<std::uint64_t>(turn.length.value));
    gpu.give(turn);
  }
  return answers;
}

std::string check_random_turns(const PolicyEntry& entry, const CheckOptions& options) {
  constexpr int kSequences = 16, kTurns = 2000;
  for (std::uint64_t sequence = 0; sequence < kSequences; ++sequence) {
    ask_for_turns(entry, options.given, options.seed, options.seed + sequence, kTurns);
  }
  return fmt::format("{} GPUs of 2 to 7 processes, {} turns each", kSequences, kTurns);
}

std::string check_scheduler_determinism(const PolicyEntry& entry, const CheckOptions& options) {
  const auto run = [&] { return ask_for_turns(entry, options.given, options.seed, options.seed, 4000); };
  check_same(run(), run(), "other turns when the same questions were repeated");
  return "the same questions twice, the same turns";
}

}  // namespace

std::span<const Check> checks_of(std::type_identity<policy::Scheduler>) {
  static constexpr Check kChecks[] = {{"parameters", check_parameters<ask_for_turns, 50>},
                                      {"random turns", check_random_turns},
                                      {"determinism", check_scheduler_determinism}};
  return kChecks;
}

}  // namespace uvmsim::conformance
