// SPDX-License-Identifier: Apache-2.0
// Checks that the records of a trace are consistent with each other: the checks that need the program's state.
//
// Memory grows with the live objects, not with the length of the trace.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/trace/reader.h"
#include "sim/trace/record.h"

namespace uvmsim::trace {

// Throws InputError for a stream beyond kMaxStream.
void check_stream(const Record& record);

class Validator {
 public:
  // `name` (a file) begins the messages.
  Validator(std::string name, const Header& header);
  ~Validator();
  Validator(Validator&&) noexcept;

  // Checks records in program order, each of them satisfying shape.h. `position` names the record in messages; without
  // one, records are counted from 1. Throws InputError naming file, record and object for
  //  - objects: id 0 or given twice, no bytes or too many, recorded addresses that overlap a live object, a free of an
  //    object that is not live, a free while tensors live inside, a tensor that does not fit its object,
  //  - accesses, copies and all other operations: an object never allocated or already freed, bytes beyond its end, an
  //    object named twice in one kernel, a touch or a phase outside the kernel's accesses, phases outside the grid or
  //    not ascending, grids and blocks that CUDA does not launch, more than kMaxGridBlocks of them, a device that
  //    cannot be, a stream beyond kMaxStream,
  //  - ranges: a pop without push, iterations inside one another, ended without begin or under another number,
  //  - time: a sum of all durations and gaps beyond kMaxTimeNs.
  void check(const Record& record, const Position& position);
  void check(const Record& record);

  // Called after the last record: throws InputError for a range or an iteration still open, unless the trace was
  // truncated.
  void finish(bool truncated = false) const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

// The part of a trace that depends on assumptions: kernels for which only the set of touched pages is known. The grid
// and the distribution then determine which thread block touches which pages; under oversubscription this affects how
// many bytes move.
class AssumedOrder {
 public:
  explicit AssumedOrder(const Header& header) : header_(header) {}

  void add(const Record& record);
  // Returns one line, or "" if there is nothing to report. It counts kernels that touch more than 2 MB, have neither an
  // order of touches nor phases, and whose launch was not recorded: their registers are unknown, and the trace names no
  // GPU.
  std::string warning() const;

 private:
  const Header& header_;
  std::uint64_t kernels_ = 0, assumed_ = 0;
  std::uint64_t bytes_ = 0, assumed_bytes_ = 0;
};

// Reads the rest of the trace and checks every record. Returns one line about unrecorded properties that the results
// depend on, or "".
std::string validate(TraceReader& reader);

}  // namespace uvmsim::trace
