// SPDX-License-Identifier: Apache-2.0
// What is known, from the records alone, about the order of work on different streams and about work the host has
// waited for: each stream orders its own work, events order streams, synchronising calls order the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "sim/common/state_digest.h"
#include "sim/trace/record.h"

namespace uvmsim::layout {

class StreamOrder {
 public:
  // In program order. The same record may come several times in a row.
  void follow(const trace::Record& record);
  // A call that waits for the whole device, such as cudaFree.
  void host_waits_for_device();

  // Names the work that was issued to the stream last; 0 is none.
  std::uint64_t last_work(std::uint32_t stream) const;
  // Whether that work comes before whatever is issued to `to` from now on.
  bool precedes(std::uint32_t stream, std::uint64_t work, std::uint32_t to) const;
  // Whether the host has waited for it.
  bool host_waited(std::uint32_t stream, std::uint64_t work) const { return at(host_, stream) >= work; }

  // Work is only ever compared with work of the same stream: what there is of each, in order.
  class Ranks {
   public:
    void note(std::uint32_t stream, std::uint64_t work) { works_[stream].push_back(work); }
    void sort();
    std::uint64_t of(std::uint32_t stream, std::uint64_t work) const;

   private:
    std::map<std::uint32_t, std::vector<std::uint64_t>> works_;
  };
  void note_works(Ranks& ranks) const;
  // `ranks`, sorted, of these works and of those that its user will ask about.
  void add_state(StateDigest& digest, const Ranks& ranks) const;

 private:
  using Clock = std::map<std::uint32_t, std::uint64_t>;  // by stream: its work up to here is over

  static std::uint64_t at(const Clock& clock, std::uint32_t stream);
  static void advance(Clock& clock, const Clock& other);
  static void add_clock(StateDigest& digest, const Clock& clock, const Ranks& ranks);
  // What is over when all that is in the stream is.
  Clock end_of(std::uint32_t stream) const;
  void add_work(std::uint32_t stream) { last_work_[stream] = ++works_; }

  std::uint64_t works_ = 0;
  Clock last_work_;
  std::map<std::uint32_t, Clock> streams_;  // what events made each wait for
  std::unordered_map<std::uint64_t, Clock> events_;
  Clock host_;
};

}  // namespace uvmsim::layout
