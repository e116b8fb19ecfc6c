// SPDX-License-Identifier: Apache-2.0
// What a program will do, for policies of class D4: oracles.
//
// Only they get it, by type: a policy whose constructor takes (const PolicyContext&, const Future&) is registered only
// if it declares class D4, and one that declares D4 only with this constructor. No other class is handed a Future.
//
// A program is a sequence of uses: every operation (a kernel, a copy) touches contents in an order, each use has a
// position. Contents are pieces of the address space in one size, the chunk of an evictor, 64 KB for a prefetcher. The
// order is the program's, not that of time: operations in the order in which they are issued, within one the order in
// which its thread blocks move through its operands. Uses by the host count as none.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/common/units.h"
#include "sim/policy/policy.h"

namespace uvmsim::policy {

class Future {
 public:
  using Position = std::uint64_t;
  static constexpr Position kNever = ~Position{0};
  static constexpr ContentIndex kNothing{~std::uint64_t{0}};

  // Where the program is: the use that is being served. What lies before it is over, as far as the driver can tell.
  Position now() const { return now_; }
  // One past the last use.
  Position end() const { return sequence_.size(); }
  // What is used there; kNothing where memory is freed.
  ContentIndex at(Position position) const { return sequence_[static_cast<std::size_t>(position)]; }
  // The first use of the content from `from` on, in the life that it has at `from`: kNever if it is freed before.
  Position next_use(ContentIndex content, Position from) const;
  // The first position of the operation that the use belongs to, and one past its last.
  Position operation_begin(Position position) const;
  Position operation_end(Position position) const;
  // How many contents that operation uses, each counted once.
  std::uint64_t operation_contents(Position position) const;

  // The rest is for who knows the program. Build it: operations in order, each under a number that is larger than that
  // of the one before, their uses in order (the same content twice in a row counts once), what is freed between them;
  // then finish().
  void add_operation(std::uint64_t number);
  void add_use(ContentIndex content);
  void add_free(std::uint64_t number, const std::vector<ContentIndex>& contents);
  void finish();
  // Follow it; time never goes back. The operation begins; it is over; a content is being brought to the GPU for the
  // operation that began last, which is where that uses it, at the place nearest to now.
  void enter(std::uint64_t number);
  void pass(std::uint64_t number);
  void arrive(ContentIndex content);

 private:
  struct Operation {
    std::uint64_t number;
    Position begin;
    std::uint64_t contents = 0;
  };
  const Operation* operation_at(Position position) const;
  // A use of a content, or its end.
  struct Event {
    std::uint64_t code;  // position * 2, + 1 for an end
    Position position() const { return code >> 1; }
    bool ends() const { return (code & 1) != 0; }
  };
  void add_event(ContentIndex content, bool ends);
  void move_to(Position position) { now_ = position > now_ ? position : now_; }
  // The operations' begin from which on the numbers are at least `number`.
  Position begin_from(std::uint64_t number) const;
  // The events of a content, ascending.
  std::span<const Event> events_of(ContentIndex content) const;

  std::vector<ContentIndex> sequence_;
  std::vector<Operation> operations_;
  std::vector<Event> events_;          // by content; before finish() in order of the program,
  std::vector<std::uint64_t> owners_;  // each with its content
  std::vector<std::uint64_t> first_;   // by content: its first event; one more at the end
  Position now_ = 0;
  Position operation_begin_ = 0, operation_end_ = 0;  // of the one that began last
};

}  // namespace uvmsim::policy
