// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/random_training.h"

#include <fmt/format.h>

#include "sim/common/random.h"

namespace uvmsim {

Program random_training(std::uint64_t seed) {
  Random random(seed);
  Program p;
  const std::uint64_t sizes[] = {300 * kKiB, 2 * kMiB, 5 * kMiB, 12 * kMiB};
  std::vector<trace::ObjectId> parameters;
  for (std::uint64_t i = 0; i < 1 + random.below(3); ++i) {
    parameters.push_back(p.alloc(sizes[random.below(4)]));
    p.host(parameters.back());
  }
  p.sync();
  const bool host_reads = random.below(4) == 0;
  const bool synchronised = random.below(8) != 0;
  const std::uint64_t kept_bytes = sizes[random.below(4)];
  const std::uint64_t of_iterations = random.below(1 << 20);
  trace::ObjectId kept = 0;
  for (const std::uint64_t index : {0u, 1u, 2u}) {
    Random same(of_iterations);
    p.add(trace::Range{trace::RangeKind::kIterationBegin, "", index});
    if (kept != 0) p.free(kept);
    std::vector<trace::ObjectId> live = parameters;
    for (std::uint64_t i = 0; i < 3 + same.below(8); ++i) {
      const trace::ObjectId id = live[same.below(live.size())];
      switch (same.below(6)) {
        case 0:
          if (host_reads) p.host(id, 0, 1 + same.below(p.pages(id)), trace::AccessMode::kRead);
          break;
        case 1:
          live.push_back(p.alloc(sizes[same.below(4)]));
          break;
        case 2:
          if (live.size() > parameters.size()) {
            p.sync();
            p.free(live.back());
            live.pop_back();
          }
          break;
        default:
          p.kernel("k", static_cast<std::int64_t>(same.below(300000)), {id}, {live[same.below(live.size())]});
      }
    }
    kept = p.alloc(kept_bytes);
    p.kernel("last", 20000, {live.back()}, {kept});
    p.sync();
    for (; live.size() > parameters.size(); live.pop_back()) p.free(live.back());
    if (!synchronised) p.kernel("on the way", 50000, {parameters[0]});
    p.add(trace::Range{trace::RangeKind::kIterationEnd, "", index});
  }
  if (random.below(2) == 0) {
    p.kernel("after", 30000, {kept}, {parameters[0]});
    p.sync();
    p.free(kept);
  }
  return p;
}

std::string text_of(const Counters& counters) {
  std::string text;
  for_each_counter(counters,
                   [&](const char* name, std::uint64_t value) { text += fmt::format("{} {}\n", name, value); });
  return text;
}
std::string text_of(const RunResult& result) {
  std::string text =
      fmt::format("{} ns, ideal {} ns, {} records, passes {} from {}\n{}", result.total.value, result.ideal.value,
                  result.records, result.repeated, result.first_repeated, text_of(result.counters));
  for (const IterationResult& i : result.iterations) {
    text += fmt::format("iteration {}: {} to {}, ideal {}\n{}", i.index, i.begin.value, i.end.value, i.ideal.value,
                        text_of(i.counters));
  }
  return text;
}

}  // namespace uvmsim
