// SPDX-License-Identifier: Apache-2.0
// Leap: follows the distance that a majority of recent faults has, in a window that grows while it is right.
#include <algorithm>
#include <vector>

#include "sim/policy/registry.h"
#include "sim/policy/unit_prefetcher.h"

namespace uvmsim::policy {
namespace {

// Leap sees every page-cache access, but a driver sees only faults, so that hits on prefetched units are inferred: a
// fault behind the window, where the trend goes on, means that the whole window was used.
class Leap final : public UnitPrefetcher {
 public:
  static PolicyInfo info() {
    return {.description = "the distance that most recent faults have, in a window that grows while it is right",
            .source = "Leap, Maruf and Chowdhury, USENIX ATC 2020; hits are inferred from faults"};
  }
  static ParameterTable parameters() {
    return {integer("history", 32, {2, 4096}, "distances between faults that are remembered"),
            integer("split", 2, {1, 64}, "the majority is first sought in the latest history / split of them"),
            integer("max_window", 8, {1, 1024}, "most 64 KB units fetched at once")};
  }

  explicit Leap(const PolicyContext& context)
      : history_(static_cast<std::size_t>(context.parameters.integer("history")), 0),
        first_look_(
            std::max<std::size_t>(1, history_.size() / static_cast<std::size_t>(context.parameters.integer("split")))),
        max_window_(context.parameters.integer("max_window")) {}

 private:
  // The distance of more than half of the latest `count` faults (Boyer and Moore); 0: none.
  Unit majority(std::size_t count) const {
    Unit candidate = 0;
    std::size_t votes = 0, support = 0;
    const auto latest = [&](std::size_t i) { return history_[(next_ + history_.size() - 1 - i) % history_.size()]; };
    for (std::size_t i = 0; i < count; ++i) {
      if (votes == 0) candidate = latest(i);
      votes = latest(i) == candidate ? votes + 1 : votes - 1;
    }
    for (std::size_t i = 0; i < count; ++i) support += latest(i) == candidate ? 1 : 0;
    return support * 2 > count ? candidate : 0;
  }
  // Looks for a trend in growing parts of the history.
  Unit find_trend() const {
    for (std::size_t look = first_look_;; look *= 2) {
      const std::size_t count = std::min({look, history_.size(), seen_});
      if (const Unit found = count == 0 ? 0 : majority(count); found != 0) return found;
      if (look >= history_.size() || look >= seen_) return 0;
    }
  }

  void on_fault(Unit unit) override {
    const Unit distance = unit - last_;
    const bool first = !started_;
    if (!first && distance == 0) return;  // another part of a unit that is being served
    started_ = true;
    last_ = unit;
    if (first) return;
    const bool follows =
        trend_ != 0 && distance % trend_ == 0 && distance / trend_ >= 1 && distance / trend_ <= window_ + 1;
    history_[next_] = follows ? trend_ : distance;
    next_ = (next_ + 1) % history_.size();
    seen_ = std::min(seen_ + 1, history_.size());
    if (const Unit found = find_trend(); found != 0) trend_ = found;  // without a majority the last trend stays
    if (follows) {
      window_ = std::clamp<Unit>(window_ * 2, 1, max_window_);
    } else {
      window_ /= 2;
    }
    for (Unit step = 1; step <= window_ && trend_ != 0; ++step) want(unit + step * trend_);
  }

  std::vector<Unit> history_;  // a ring buffer
  std::size_t next_ = 0, seen_ = 0;
  std::size_t first_look_;
  Unit max_window_;
  bool started_ = false;
  Unit last_ = 0, trend_ = 0, window_ = 0;
};

}  // namespace

UVMSIM_POLICY(leap, Leap);

}  // namespace uvmsim::policy
