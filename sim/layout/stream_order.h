// SPDX-License-Identifier: Apache-2.0
// The order of work on different streams, and the work that the host has waited for, as far as the records show them:
// each stream orders its own work, events order streams, synchronising calls order the host.
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
  // Follows records in program order. The same record may come several times in a row.
  void follow(const trace::Record& record);
  // Records a call that waits for the whole device, such as cudaFree.
  void host_waits_for_device();

  // Identifies the work that was last issued to the stream; 0 is none.
  std::uint64_t last_work(std::uint32_t stream) const;
  // Returns whether that work precedes all work that is issued to `to` from now on.
  bool precedes(std::uint32_t stream, std::uint64_t work, std::uint32_t to) const;
  // Returns whether the host has waited for it.
  bool host_waited(std::uint32_t stream, std::uint64_t work) const { return at(host_, stream) >= work; }

  // The rank of each work among the works of its stream. Only works of the same stream are ever compared.
  class Ranks {
   public:
    void note(std::uint32_t stream, std::uint64_t work) { works_[stream].push_back(work); }
    void sort();
    std::uint64_t of(std::uint32_t stream, std::uint64_t work) const;

   private:
    std::map<std::uint32_t, std::vector<std::uint64_t>> works_;
  };
  void note_works(Ranks& ranks) const;
  // `ranks` must be sorted, and hold these works and those that the caller will ask about.
  void add_state(StateDigest& digest, const Ranks& ranks) const;

 private:
  using Clock = std::map<std::uint32_t, std::uint64_t>;  // by stream: the last work that has finished

  static std::uint64_t at(const Clock& clock, std::uint32_t stream);
  static void advance(Clock& clock, const Clock& other);
  static void add_clock(StateDigest& digest, const Clock& clock, const Ranks& ranks);
  // Returns the works that have finished when all work in the stream has.
  Clock end_of(std::uint32_t stream) const;
  void add_work(std::uint32_t stream) { last_work_[stream] = ++works_; }

  std::uint64_t works_ = 0;
  Clock last_work_;
  std::map<std::uint32_t, Clock> streams_;  // by stream: the work that it waited for through events
  std::unordered_map<std::uint64_t, Clock> events_;
  Clock host_;
};

}  // namespace uvmsim::layout
