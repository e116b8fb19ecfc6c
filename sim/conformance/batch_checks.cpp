// SPDX-License-Identifier: Apache-2.0
// Checks batch policies on random buffers: any number of faults of any SM, batches with and without evictions.
#include <algorithm>

#include "sim/conformance/told_state.h"

namespace uvmsim::conformance {
namespace {

using policy::PolicyEntry;

// One policy and the batches that it shapes; every answer is checked.
class Batches final : public LifeOf<policy::Batcher> {
 public:
  using LifeOf::LifeOf;

  void step() override {
    ++number_;
    if (one_in(8)) listening_.kernel(random_, now_);
    policy::BatchMoment moment{.now = now_,
                               .oldest = now_ - Nanoseconds(static_cast<std::int64_t>(below(1000))),
                               .waited = {},
                               .waiting = static_cast<std::uint32_t>(below(one_in(2) ? 8 : 2048)),
                               .driver_faults = 256,
                               .buffer_entries = 2048,
                               .memory = {64, static_cast<std::uint32_t>(below(65)), oversubscribed_}};
    while (true) {
      const policy::BatchShape shape = policy_->shape(moment);
      if (const std::string wrong = policy::shape_error(shape, moment); !wrong.empty()) {
        throw Wrong(fmt::format("shape for batch {}: {}", number_, wrong));
      }
      answered("shape", shape.faults);
      answered("shape", static_cast<std::uint64_t>(shape.delay.value));
      const Nanoseconds delay = std::min(shape.delay, policy::kMostBatchDelay - moment.waited);
      if (delay <= Nanoseconds{}) break;
      ++delays;
      moment.waited += delay;
      moment.now = now_ += delay;
      moment.waiting += static_cast<std::uint32_t>(below(64));
    }
    std::vector<policy::FaultRecord> faults;
    for (std::uint64_t left = 1 + below(std::min(256u, moment.waiting + 1)); left > 0; --left) {
      faults.push_back({PageIndex(below(16 * kPagesPerBlock)), now_, static_cast<std::uint32_t>(below(4)),
                        1 + static_cast<std::uint32_t>(below(3)), one_in(2)});
    }
    const auto process = static_cast<std::uint32_t>(below(2));
    std::vector<BlockIndex> first;
    policy_->arrange({process, now_, faults}, first);
    listening_.faults(process, now_, faults);
    blocks += first.size();
    for (const BlockIndex block : first) answered("arrange", block.value);
    const Nanoseconds begin = now_;
    now_ += Nanoseconds(static_cast<std::int64_t>(1 + below(100000)));
    const auto evictions = static_cast<std::uint32_t>(below(2) * below(4));
    oversubscribed_ = oversubscribed_ || evictions != 0;
    moment.memory.oversubscribed = oversubscribed_;
    answered("running_sms", policy_->running_sms({.begin = begin,
                                                  .end = now_,
                                                  .raw_faults = static_cast<std::uint32_t>(faults.size()),
                                                  .blocks = static_cast<std::uint32_t>(1 + below(16)),
                                                  .evictions = evictions,
                                                  .sms = 4,
                                                  .memory = moment.memory}));
  }
  Nanoseconds now() const override { return now_; }
  // The content of each batch is drawn anew, so it is not part of the state.
  void add_state(StateDigest& digest) const override {
    digest.add(std::uint64_t{oversubscribed_});
    add_policy_state(digest);
  }
  // number of delayed batches, and of blocks that the policy asked to serve first
  std::uint64_t delays = 0, blocks = 0;

 private:
  Nanoseconds now_{1000};
  bool oversubscribed_ = false;
  std::uint64_t number_ = 0;
};

Batches run_batches(const PolicyEntry& entry, const policy::GivenParameters& given, std::uint64_t seed,
                    std::uint64_t sequence, int batches) {
  const policy::Future future = random_future(sequence);
  Batches run(entry.create<policy::Batcher>(given, seed, 64, &future), entry.info.information);
  run.draw_from(sequence);
  for (int batch = 0; batch < batches; ++batch) run.step();
  return run;
}

std::string check_random_batches(const PolicyEntry& entry, const CheckOptions& options) {
  std::uint64_t delays = 0, blocks = 0;
  for (std::uint64_t sequence = 0; sequence < 8; ++sequence) {
    const Batches run = run_batches(entry, options.given, options.seed, options.seed + sequence, 1000);
    delays += run.delays;
    blocks += run.blocks;
  }
  return fmt::format("8 sequences of 1,000 batches, put off {} times, {} blocks named to be served first", delays,
                     blocks);
}

std::string check_batch_determinism(const PolicyEntry& entry, const CheckOptions& options) {
  const auto run = [&] { return run_batches(entry, options.given, options.seed, options.seed, 1000).answers(); };
  check_same(run(), run(), "gave other answers when the same batches were repeated");
  return "the same batches twice, the same answers";
}

}  // namespace

std::span<const Check> checks_of(std::type_identity<policy::Batcher>) {
  static constexpr Check kChecks[] = {{"parameters", check_parameters<run_batches, 100>},
                                      {"random batches", check_random_batches},
                                      {"determinism", check_batch_determinism},
                                      {"state", check_told_state_of<Batches, 64>}};
  return kChecks;
}

}  // namespace uvmsim::conformance
