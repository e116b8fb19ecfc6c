// SPDX-License-Identifier: Apache-2.0
// Processes whose memory fits together compute together; turns between such groups are long enough that moving memory
// takes a small part of them.
#include <algorithm>

#include "sim/policy/registry.h"

namespace uvmsim::policy {
namespace {

class MemoryTurns final : public Scheduler {
 public:
  static PolicyInfo info() {
    return {.name = "memory_aware",
            .description =
                "groups of processes that fit into memory together take turns of the time slice; a group "
                "stays for `factor` times what bringing its memory takes",
            .source =
                "after the scheduling of memory with the context of MSched (arXiv 2512.24637); groups and "
                "factor are ours"};
  }
  static ParameterTable parameters() {
    return {integer("factor", 10, {1, 10000}, "a group computes so many times as long as its memory takes to come")};
  }

  explicit MemoryTurns(const PolicyContext& context) : factor_(context.parameters.integer("factor")) {}

  Turn next(const ScheduleQueries& queries) override {
    const ProcessView* next = queries.now() < group_end_ ? first(queries, true) : nullptr;
    if (next == nullptr) {
      form_group(queries);
      next = first(queries, true);
    }
    return {next->process, std::max(Nanoseconds(1), alone_ ? group_end_ - queries.now() : queries.time_slice())};
  }
  // The processes of the group come first, then the others.
  void forecast(const ScheduleQueries& queries, std::vector<std::uint32_t>& processes) override {
    for (const ProcessView& view : queries.processes()) processes.push_back(view.process);
    std::stable_partition(processes.begin(), processes.end(), [&](std::uint32_t process) { return in_group(process); });
  }

 private:
  bool in_group(std::uint32_t process) const {
    return std::find(group_.begin(), group_.end(), process) != group_.end();
  }
  const ProcessView* first(const ScheduleQueries& queries, bool of_group) const {
    for (const ProcessView& view : queries.processes()) {
      if (view.waits && in_group(view.process) == of_group) return &view;
    }
    return nullptr;
  }

  // Forms a group: it begins with a waiting process that was not in the last group; waiting processes that fit join.
  void form_group(const ScheduleQueries& queries) {
    const ProcessView* leader = first(queries, false);
    if (leader == nullptr) leader = first(queries, true);
    std::uint64_t pages = leader->most_resident_pages;
    std::uint64_t missing = leader->most_resident_pages - leader->resident_pages;
    std::vector<std::uint32_t> group{leader->process};
    for (const ProcessView& view : queries.processes()) {
      if (!view.waits || view.process == leader->process) continue;
      if (view.most_resident_pages > queries.memory_pages() - std::min(pages, queries.memory_pages())) continue;
      pages += view.most_resident_pages;
      missing += view.most_resident_pages - view.resident_pages;
      group.push_back(view.process);
    }
    group_ = std::move(group);
    const auto waiting = std::count_if(queries.processes().begin(), queries.processes().end(),
                                       [](const ProcessView& view) { return view.waits; });
    alone_ = group_.size() == 1 && waiting > 1;
    group_end_ = queries.now() + std::max(queries.time_slice() * static_cast<std::int64_t>(group_.size()),
                                          queries.time_to_bring(missing) * factor_);
  }

  const std::int64_t factor_;
  std::vector<std::uint32_t> group_;
  bool alone_ = false;  // one process computes while others wait for its turn to end
  Nanoseconds group_end_{};
};

}  // namespace

UVMSIM_POLICY(memory_turns, MemoryTurns);

}  // namespace uvmsim::policy
