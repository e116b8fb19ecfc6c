// SPDX-License-Identifier: Apache-2.0
// The records that the engine replays: those of the source, with durations scaled to the modelled GPU and iterations
// repeated. It reads ahead as far as it must to distinguish segments of a framework's allocator from other memory.
#pragma once

#include <cstdint>
#include <deque>

#include "sim/common/error.h"
#include "sim/edit/repeat_iterations.h"
#include "sim/engine/simulation.h"
#include "sim/engine/time_scale.h"
#include "sim/layout/segments.h"

namespace uvmsim::engine {

class RecordFeed {
 public:
  // Source and options must outlive the feed. Durations are scaled to `gpu`, which the system must have.
  RecordFeed(const trace::Header& header, const RecordSource& source, const RunOptions& options, unsigned gpu = 0);
  RecordFeed(const RecordFeed&) = delete;
  RecordFeed& operator=(const RecordFeed&) = delete;

  // Returns the next record; false at the end. Throws InputError as IterationRepeater and the source do.
  bool next(trace::Record& record);
  // Calls f(record) for the records that are left. An InputError of it names the record.
  template <class F>
  void for_each(F&& f) {
    trace::Record record;
    while (next(record)) {
      try {
        f(record);
      } catch (const InputError& error) {
        throw_input_error("record {}: {}", number(), error.what());
      }
    }
  }
  // Properties of the record that next() gave last: its number in the recording, from 1; for an allocation, whether it
  // is a segment; whether it begins a repetition.
  std::uint64_t number() const { return given_.number; }
  bool is_segment() const { return segments_.is_segment(); }
  bool begins_repetition() const { return given_.begins_repetition; }

  // As in IterationRepeater. at_repetition() returns false if records behind that point were read ahead to find
  // segments.
  bool at_repetition() const { return ahead_.empty() && repeater_.at_repetition(); }
  std::uint64_t repetitions_left() const { return repeater_.repetitions_left(); }
  void leave_out(std::uint64_t repetitions) { repeater_.leave_out(repetitions); }
  trace::IterationRepeater::Passes passes() const { return repeater_.passes(); }

  TimeScaleResult time_scale() const { return scale_.result(); }

 private:
  struct Given {
    std::uint64_t number = 0;
    bool begins_repetition = false;
  };

  TimeScale scale_;
  RecordSource scaled_;
  trace::IterationRepeater repeater_;
  RecordSource repeated_;
  layout::SegmentFinder segments_;
  std::deque<Given> ahead_;
  Given given_;
};

}  // namespace uvmsim::engine
