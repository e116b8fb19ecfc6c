// SPDX-License-Identifier: Apache-2.0
// A recording of a few marked iterations, replayed as if the program had run N of them.
//
// The records before the first iteration run once, then the recorded iterations, one of which is repeated until N have
// run, then the rest. If N is smaller than the recorded number, the first N run, then the rest; frees of memory that an
// omitted iteration allocated are left out.
//
// The repeated iteration is the second to last of the recorded ones, because the last also contains the end of the
// program. If the second to last is iteration 0 (warm-up) or unbalanced, the last is repeated. Its passes then omit the
// frees after its last operation that only end the program, and the host's time from the first of these on (a
// framework's end takes 5 to 30 ms). Repetitions come directly before the repeated iteration, so that it and the rest
// stay as recorded. Records between two iterations belong to the later one.
//
// A repetition allocates under ids of its own (iteration_plan.h says which). Events keep their numbers: CUDA programs
// record the same event again and again.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sim/edit/iteration_plan.h"
#include "sim/trace/record.h"

namespace uvmsim::trace {

class IterationRepeater {
 public:
  using Source = std::function<bool(Record&)>;  // false at the end of the trace

  // As many iterations as time and ids allow, for a replay that cuts the program off.
  static constexpr std::uint64_t kEndless = ~std::uint64_t{0};

  // With 0 iterations, next() returns the records of the source unchanged. The source must outlive it.
  IterationRepeater(const Source& source, std::uint64_t iterations) : source_(source), wanted_(iterations) {}

  // Returns the next record of the longer or shorter program; false at its end. Buffers the records of two iterations
  // at most. Throws InputError if no iteration can be repeated (naming the object that prevents it), and if the trace
  // marks no iterations, ends within one, or later uses memory of an omitted iteration.
  bool next(Record& record);
  // Returns the last record's number in the recording, from 1: the same in every pass.
  std::uint64_t number() const { return number_; }

  // Returns whether the record that next() returned last begins a repetition. The first pass does not count, because it
  // allocates segments that stay.
  bool begins_repetition() const { return begins_repetition_; }
  // at_repetition() returns whether the next record will begin a repetition. Then repetitions_left() passes from there
  // on can be skipped, and leave_out() skips that many. Later records use the memory that the last returned pass keeps,
  // and their marks do not count skipped passes. The last pass is not skipped if it also ends the program.
  bool at_repetition() const {
    return repeated_ && ready_.empty() && pass_begins_ && pass_ != 0 && pass_ <= repetitions_;
  }
  std::uint64_t repetitions_left() const { return repetitions_ - pass_ + (plan_.freed_at_the_end.empty() ? 1 : 0); }
  void leave_out(std::uint64_t repetitions);

  // The iterations, counted from 0 in the order in which they ran, that are passes of the repeated one and leave memory
  // as they found it. Call passes() after the end. Without repetitions it returns the last iteration, if there is any.
  struct Passes {
    std::uint64_t first = 0, count = 0;
  };
  Passes passes() const;

 private:
  struct Unit {  // an iteration, with the records between it and the one before
    std::uint64_t number = 0;
    std::uint64_t first_record = 0;
    IterationRecords content;
  };
  struct Numbered {
    std::uint64_t number = 0;
    Record record;
  };

  bool read();
  bool give(std::deque<Numbered>& from, Record& record);
  static void append(std::deque<Numbered>& to, std::vector<Record>&& records, std::uint64_t first_record);
  void close_unit();
  void release_held();
  void end_of_source();
  void choose();
  void keep_without_left_out();
  bool is_omitted(const Record& record) const;
  void find_next_of_pass();
  void name_pass();
  void rename(Record& record) const;
  bool next_of_pass(Record& record);

  const Source& source_;
  const std::uint64_t wanted_;
  bool source_done_ = false;
  bool in_iteration_ = false;
  std::uint64_t recorded_ = 0;  // iterations read so far
  std::unordered_map<ObjectId, Allocation> live_;
  std::uint64_t allocations_ = 0;
  ObjectId largest_id_ = 0;
  std::uint64_t number_ = 0;
  bool pass_begins_ = false, begins_repetition_ = false;
  std::uint64_t records_read_ = 0;
  std::deque<Numbered> ready_;    // to be returned first
  std::deque<Unit> held_;         // the last two iterations; one of them may have to be repeated
  IterationRecords open_;         // records after these iterations
  std::uint64_t open_first_ = 0;  // number of the first record in `open_`
  std::unordered_set<ObjectId> left_out_;

  // The passes of the repeated iteration: `repetitions_` copies and the recorded one.
  std::optional<Unit> repeated_;
  IterationPlan plan_;
  std::uint64_t repetitions_ = 0, pass_ = 0;
  std::size_t at_ = 0;  // within the pass
  bool ends_without_last_pass_ = false;
  ObjectId next_id_ = 0;
  std::unordered_map<ObjectId, ObjectId> names_;  // maps ids to new ids, for the pass of the last returned record
  std::deque<Numbered> rest_;                     // records after the passes
};

}  // namespace uvmsim::trace
