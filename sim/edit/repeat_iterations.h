// SPDX-License-Identifier: Apache-2.0
// A recording of a few marked iterations, replayed as if the program had run N of them.
//
// What comes before the first iteration runs once, then the recorded iterations, one of which is repeated until N are
// done, then what follows. With N smaller than recorded: the first N, then what follows, without the frees of memory
// that was allocated in an iteration left out.
//
// Which one is repeated: the last but one that is recorded, as the last holds the end of the program as well, or, where
// that is iteration 0 (warm-up) or unbalanced, the last. Behind its last operation passes go without frees that only
// end the program, and from the first of these on without the host's time (a framework's end takes 5 to 30 ms).
// Repetitions come directly before it, so that it and what follows stay as recorded. What lies between two belongs to
// the later one.
//
// Names: a repetition allocates under ids of its own (iteration_plan.h says which). Events keep their numbers: CUDA
// programs record the same event again and again.
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

  // As many iterations as times and ids allow: for a program that the replay cuts off.
  static constexpr std::uint64_t kEndless = ~std::uint64_t{0};

  // 0 iterations: the records of the source as they are. The source must outlive it.
  IterationRepeater(const Source& source, std::uint64_t iterations) : source_(source), wanted_(iterations) {}

  // The next record of the longer or shorter program; false at its end. Holds the records of two iterations at most.
  // Throws InputError when no iteration can be repeated (naming the object that is in the way), and when the trace
  // marks no iterations, ends within one, or goes on with memory of an iteration left out.
  bool next(Record& record);
  // The number of that record in the recording, from 1: the same in every pass.
  std::uint64_t number() const { return number_; }

  // Whether that record is the first of a repetition that begins as the others do: not the first pass, which opens
  // memory that stays.
  bool begins_repetition() const { return begins_repetition_; }
  // Whether the next record will be such a one. Then: how many passes from there on can be left out, and leaving out
  // the next so many of them. What follows uses the memory that the last pass given out keeps, and its marks count
  // without those left out. The last pass stays where it also ends the program.
  bool at_repetition() const {
    return repeated_ && ready_.empty() && pass_begins_ && pass_ != 0 && pass_ <= repetitions_;
  }
  std::uint64_t repetitions_left() const { return repetitions_ - pass_ + (plan_.freed_at_the_end.empty() ? 1 : 0); }
  void leave_out(std::uint64_t repetitions);

  // After the end: which iterations, counted from 0 in the order in which they ran, are passes of the repeated one that
  // leave memory as they found it. Without repetitions the last one; none if there are none.
  struct Passes {
    std::uint64_t first = 0, count = 0;
  };
  Passes passes() const;

 private:
  struct Unit {  // an iteration, with what lies between it and the one before
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
  std::uint64_t recorded_ = 0;  // iterations, as far as read
  std::unordered_map<ObjectId, Allocation> live_;
  std::uint64_t allocations_ = 0;
  ObjectId largest_id_ = 0;
  std::uint64_t number_ = 0;
  bool pass_begins_ = false, begins_repetition_ = false;
  std::uint64_t records_read_ = 0;
  std::deque<Numbered> ready_;    // to be given out first
  std::deque<Unit> held_;         // the last two iterations, of which one may have to be repeated
  IterationRecords open_;         // what comes behind them
  std::uint64_t open_first_ = 0;  // number of its first record
  std::unordered_set<ObjectId> left_out_;

  // The passes of the repeated iteration: `repetitions_` of them and the recorded one.
  std::optional<Unit> repeated_;
  IterationPlan plan_;
  std::uint64_t repetitions_ = 0, pass_ = 0;
  std::size_t at_ = 0;  // within the pass
  bool ends_without_last_pass_ = false;
  ObjectId next_id_ = 0;
  std::unordered_map<ObjectId, ObjectId> names_;  // of the pass that gave the last record
  std::deque<Numbered> rest_;                     // behind the passes
};

}  // namespace uvmsim::trace
