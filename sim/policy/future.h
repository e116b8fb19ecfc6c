// SPDX-License-Identifier: Apache-2.0
// The future of a program, for oracles: policies of class D4.
//
// Types ensure that only they receive it: a policy whose constructor takes (const PolicyContext&, const Future&) is
// registered only if it declares class D4, and a class D4 policy only with this constructor.
//
// A program is a sequence of uses: every operation (a kernel, a copy) touches contents in an order, and each use has a
// position. Contents are pieces of the address space of one size: the chunk of an evictor, 64 KB for a prefetcher. The
// order is the program's, not that of time: operations in the order in which they are issued, and within an operation
// the order in which its thread blocks move through its operands. Uses by the host do not count.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/common/sparse_table.h"
#include "sim/common/units.h"
#include "sim/policy/policy.h"

namespace uvmsim::policy {

class Future {
 public:
  using Position = std::uint64_t;
  static constexpr Position kNever = ~Position{0};
  static constexpr ContentIndex kNothing{~std::uint64_t{0}};

  // The program's current position: the use that is being served. Earlier uses are over, as far as the driver can tell.
  Position now() const { return now_; }
  // One past the last use.
  Position end() const { return sequence_.size(); }
  // The content used at a position; kNothing where memory is freed.
  ContentIndex at(Position position) const { return sequence_[static_cast<std::size_t>(position)]; }
  // The first use of the content from `from` on; kNever if the content is freed before.
  Position next_use(ContentIndex content, Position from) const;
  // The first position of the use's operation, and one past its last.
  Position operation_begin(Position position) const;
  Position operation_end(Position position) const;
  // The number of distinct contents that the use's operation touches.
  std::uint64_t operation_contents(Position position) const;

  // The functions below are for the core, which knows the program. They build it: operations in order, each with a
  // larger number than the one before; their uses in order (the same content twice in a row counts once); frees between
  // them; then finish().
  void add_operation(std::uint64_t number);
  void add_use(ContentIndex content);
  void add_free(std::uint64_t number, const std::vector<ContentIndex>& contents);
  void finish();
  // The functions below follow the program; time never goes back. enter(): the operation begins. pass(): it is over.
  // arrive(): a content is brought to the GPU for the operation that began last, at that operation's nearest use of it.
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
  // A use of a content, or its free.
  struct Event {
    std::uint64_t code;  // position * 2, + 1 for a free
    Position position() const { return code >> 1; }
    bool ends() const { return (code & 1) != 0; }
  };
  // Where the events of a content are.
  struct Place {
    std::uint64_t first = 0, count = 0;
    std::uint64_t last = 0;  // in finish(): the operation that last used it, from 1
  };
  void add_event(ContentIndex content, bool ends);
  void move_to(Position position) { now_ = position > now_ ? position : now_; }
  // The begin of the first operation whose number is at least `number`.
  Position begin_from(std::uint64_t number) const;
  // The events of a content, ascending.
  std::span<const Event> events_of(ContentIndex content) const;

  std::vector<ContentIndex> sequence_;
  std::vector<Operation> operations_;
  std::vector<Event> events_;          // by content; before finish() in program order,
  std::vector<std::uint64_t> owners_;  // with the content of each
  SparseTable<Place> places_;          // by content
  Position now_ = 0;
  Position operation_begin_ = 0, operation_end_ = 0;  // of the operation that began last
};

}  // namespace uvmsim::policy
