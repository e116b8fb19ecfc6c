// SPDX-License-Identifier: Apache-2.0
#include "sim/bounds/windows.h"

#include <algorithm>

#include "sim/bounds/frames.h"

namespace uvmsim::bounds {

namespace {

class Counter {
 public:
  Counter(const Steps& steps, std::size_t base, std::uint64_t capacity_pages)
      : base_(base),
        first_border_(base == 0 ? 0 : base - 1),
        capacity_(capacity_pages),
        loads_(steps.steps.size() - first_border_, capacity_pages),
        write_backs_(steps.steps.size() - first_border_, capacity_pages) {}

  void add(std::size_t number, const Step& step);
  // Ends the program: open intervals could also have stayed beside those that stayed, within the capacity.
  void close(std::size_t steps, const std::vector<Interval>& open);

  std::uint64_t pages_in() const { return in_; }
  // Pages in use beyond the capacity have been written back by now, too.
  std::uint64_t pages_out() const { return out_ + open_ - std::min(open_, capacity_); }
  std::uint64_t pages_out_at_end() const { return out_; }

 private:
  // Pages of an interval that ends in step `number` and cannot have stayed.
  std::uint64_t lost(Frames& frames, std::size_t from, std::size_t number, std::uint64_t pages) const {
    const std::size_t first = std::max(from, first_border_) - first_border_;
    return pages - frames.keep(first, number - first_border_, pages);
  }

  std::size_t base_, first_border_;
  std::uint64_t capacity_;
  Frames loads_, write_backs_;
  std::uint64_t in_ = 0, out_ = 0;
  std::uint64_t open_ = 0;  // pages whose last use is in the window
};

void Counter::add(std::size_t number, const Step& step) {
  for (const Interval& interval : step.intervals) {
    const bool began_inside = interval.from >= base_;
    const std::uint64_t pages = interval.pages;
    switch (interval.end) {
      case Interval::End::kCold:
        in_ += began_inside ? pages : lost(loads_, interval.from, number, pages);  // otherwise possibly fetched before
        continue;
      case Interval::End::kReused:
        in_ += lost(loads_, interval.from, number, pages);
        if (began_inside) {
          out_ += lost(write_backs_, interval.from, number, pages);
        } else {
          open_ += pages;
        }
        continue;
      case Interval::End::kDropped:
        if (began_inside) out_ += lost(write_backs_, interval.from, number, pages);
        break;
      case Interval::End::kTaken:
        if (began_inside) out_ += pages;  // otherwise possibly written back before
        break;
      case Interval::End::kForgotten:
        break;
    }
    if (began_inside) open_ -= pages;
  }
  open_ += step.fresh_pages;
}

void Counter::close(std::size_t steps, const std::vector<Interval>& open) {
  for (const Interval& interval : open) {
    if (interval.from >= base_) out_ += lost(write_backs_, interval.from, steps, interval.pages);
  }
}

}  // namespace

Window count_window(const Steps& steps, std::size_t base, std::uint64_t capacity_pages) {
  Window window;
  window.base = base;
  Counter counter(steps, base, capacity_pages);
  for (std::size_t number = base; number < steps.steps.size(); ++number) {
    counter.add(number, steps.steps[number]);
    window.pages_in.push_back(counter.pages_in());
    window.pages_out.push_back(counter.pages_out());
  }
  counter.close(steps.steps.size(), steps.open);
  if (!window.pages_out.empty()) window.pages_out.back() = counter.pages_out_at_end();
  return window;
}

}  // namespace uvmsim::bounds
