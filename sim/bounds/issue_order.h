// SPDX-License-Identifier: Apache-2.0
// Determines which operations are certainly over before another one begins, whatever runs concurrently on other
// streams.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/layout/stream_order.h"

namespace uvmsim::bounds {

// Operations count from 0 in the order in which they are added: work of streams and of the host itself.
class IssueOrder {
 public:
  // Follows a record that is not an operation.
  void follow(const trace::Record& record) { order_.follow(record); }
  void host_waits_for_device() { order_.host_waits_for_device(); }

  // Adds a record that is the next operation, on a stream or of the host. Operations [0, result) are over before it
  // begins.
  std::size_t add(const trace::Record& record, std::uint32_t stream) {
    const std::size_t after = oldest(
        passed_[stream], [&](std::uint32_t other, std::uint64_t work) { return order_.precedes(other, work, stream); });
    order_.follow(record);
    works_[stream].push_back({order_.last_work(stream), operations_++});
    return after;
  }
  std::size_t add_on_host() {
    const std::size_t after = oldest(
        passed_by_host_, [&](std::uint32_t other, std::uint64_t work) { return order_.host_waited(other, work); });
    ++operations_;
    return after;
  }

 private:
  struct Work {
    std::uint64_t number;  // StreamOrder's
    std::size_t operation;
  };
  // By stream: how many of its works_ are known to come before.
  using Passed = std::map<std::uint32_t, std::size_t>;

  // Returns the oldest operation that need not be over.
  template <class IsOver>
  std::size_t oldest(Passed& passed, const IsOver& is_over) const {
    std::size_t first = operations_;
    for (const auto& [stream, works] : works_) {
      std::size_t& next = passed[stream];
      while (next < works.size() && is_over(stream, works[next].number)) ++next;
      if (next < works.size()) first = std::min(first, works[next].operation);
    }
    return first;
  }

  layout::StreamOrder order_;
  std::size_t operations_ = 0;
  std::map<std::uint32_t, std::vector<Work>> works_;  // by stream
  std::map<std::uint32_t, Passed> passed_;            // by stream of the later operation
  Passed passed_by_host_;
};

}  // namespace uvmsim::bounds
