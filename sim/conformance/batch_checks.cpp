// SPDX-License-Identifier: Apache-2.0
// Batch policies on random buffers: any number of faults of any SM, batches with and without evictions.
#include <algorithm>

#include "sim/conformance/checks.h"

namespace uvmsim::conformance {
namespace {

using policy::PolicyEntry;

struct BatchAnswers {
  std::vector<std::uint64_t> numbers;  // shapes, SMs and blocks, one after the other
  std::uint64_t delays = 0, blocks = 0;
};

BatchAnswers run_batches(const PolicyEntry& entry, const policy::GivenParameters& given, std::uint64_t seed,
                         std::uint64_t sequence, int batches) {
  const policy::Future future = random_future(sequence);
  const auto batcher = entry.create_batcher(given, seed, 64, &future);
  Random random(sequence);
  BatchAnswers answers;
  std::vector<policy::FaultRecord> faults;
  std::vector<BlockIndex> first;
  Nanoseconds now(1000);
  for (int batch = 0; batch < batches; ++batch) {
    policy::BatchMoment moment{.now = now,
                               .oldest = now - Nanoseconds(static_cast<std::int64_t>(random.below(1000))),
                               .waited = {},
                               .waiting = static_cast<std::uint32_t>(random.below(random.below(2) == 0 ? 8 : 2048)),
                               .driver_faults = 256,
                               .buffer_entries = 2048,
                               .memory = {64, static_cast<std::uint32_t>(random.below(65)), random.below(2) == 0}};
    while (true) {
      const policy::BatchShape shape = batcher->shape(moment);
      if (const std::string wrong = policy::shape_error(shape, moment); !wrong.empty()) {
        throw Wrong(fmt::format("shape for batch {}: {}", batch + 1, wrong));
      }
      answers.numbers.push_back(shape.faults);
      answers.numbers.push_back(static_cast<std::uint64_t>(shape.delay.value));
      const Nanoseconds delay = std::min(shape.delay, policy::kMostBatchDelay - moment.waited);
      if (delay <= Nanoseconds{}) break;
      ++answers.delays;
      moment.waited += delay;
      moment.now = now += delay;
      moment.waiting += static_cast<std::uint32_t>(random.below(64));
    }
    faults.clear();
    for (std::uint64_t left = 1 + random.below(std::min(256u, moment.waiting + 1)); left > 0; --left) {
      faults.push_back({PageIndex(random.below(16 * kPagesPerBlock)), now, static_cast<std::uint32_t>(random.below(4)),
                        1 + static_cast<std::uint32_t>(random.below(3)), random.below(2) == 0});
    }
    first.clear();
    batcher->arrange({static_cast<std::uint32_t>(random.below(2)), now, faults}, first);
    answers.blocks += first.size();
    for (const BlockIndex block : first) answers.numbers.push_back(block.value);
    const Nanoseconds begin = now;
    now += Nanoseconds(static_cast<std::int64_t>(1 + random.below(100000)));
    answers.numbers.push_back(
        batcher->running_sms({.begin = begin,
                              .end = now,
                              .raw_faults = static_cast<std::uint32_t>(faults.size()),
                              .blocks = static_cast<std::uint32_t>(1 + random.below(16)),
                              .evictions = static_cast<std::uint32_t>(random.below(2) * random.below(4)),
                              .sms = 4,
                              .memory = moment.memory}));
  }
  return answers;
}

}  // namespace

std::string check_batch_parameters(const PolicyEntry& entry, const CheckOptions& options) {
  return try_parameters(entry, options, [&](const policy::GivenParameters& given) {
    run_batches(entry, given, options.seed, options.seed, 100);
  });
}

std::string check_random_batches(const PolicyEntry& entry, const CheckOptions& options) {
  std::uint64_t delays = 0, blocks = 0;
  for (std::uint64_t sequence = 0; sequence < 8; ++sequence) {
    const BatchAnswers answers = run_batches(entry, options.given, options.seed, options.seed + sequence, 1000);
    delays += answers.delays;
    blocks += answers.blocks;
  }
  return fmt::format("8 sequences of 1,000 batches, put off {} times, {} blocks named to be served first", delays,
                     blocks);
}

std::string check_batch_determinism(const PolicyEntry& entry, const CheckOptions& options) {
  if (run_batches(entry, options.given, options.seed, options.seed, 1000).numbers !=
      run_batches(entry, options.given, options.seed, options.seed, 1000).numbers) {
    throw Wrong("other answers when the same batches came again");
  }
  return "the same batches twice, the same answers";
}

}  // namespace uvmsim::conformance
