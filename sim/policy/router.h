// SPDX-License-Identifier: Apache-2.0
// The slot `route`: over which links memory moves between the host and GPUs, and whose spare memory takes what a GPU
// evicts.
//
// Asked once per move of a block, never per page, and only where the server has several GPUs. One instance serves one
// GPU: moves to it, from wherever, and from it to the host. Which pages move, and why, others have decided. The core
// checks every answer: one that cannot be carried out is an error that names the policy and what is wrong.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "sim/common/state_digest.h"
#include "sim/common/units.h"
#include "sim/memory/processor.h"

namespace uvmsim::policy {

enum class MoveCause : std::uint8_t {
  kFault,          // an access waits for it: a fault of a GPU or of the CPU
  kPrefetch,       // of a prefetcher or a planner
  kAccessCounter,  // of an access counter or a migrate policy
  kUser,           // a call of the program
  kEvict,
};

// Pages of one VA block that are about to move.
struct Move {
  BlockIndex block;
  // The host or a GPU each, never the same. Of an eviction: to the host.
  ProcessorId from, to;
  std::uint64_t bytes = 0;
  MoveCause cause = MoveCause::kFault;
  // They may stay in spare memory of another GPU (Route::Way::kSpare) where the server harvests: a whole 2 MB victim; a
  // block of the fault batch that a helper may bring nearer ahead of the fault service (kFault); a block ahead of need
  // (kPrefetch). Of a block that stays, the next fault asks again.
  bool may_stay = false;
  // Nothing waits for them: Route::Way::kLater is allowed.
  bool may_wait = false;
  Nanoseconds now{};
};

struct Route {
  enum class Way : std::uint8_t {
    kDirect,   // over the link between the two. Two GPUs without one: through the host
    kHost,     // two GPUs: to the host and on from there. Else the same as kDirect
    kGpu,      // to `gpu` and on from there, which needs links on both ways. A buffer there holds a block for a moment
    kSpare,    // to spare memory of `gpu`, where it stays; where Move::may_stay and RouteQueries::has_room
    kLater,    // not now: asked again when a copy that goes on is done; where Move::may_wait
    kStriped,  // in stripes side by side, as kDirect and as kGpu; `direct` and `through` say how much takes which way
  };
  Way way = Way::kDirect;
  unsigned gpu = 0;  // of kGpu and kSpare
  // Of kStriped: weights, of which not all are 0. A stripe is a stretch of the pages' 64 KB units, in this order.
  std::uint16_t direct = 0;                          // over the link between the two, which must be there
  std::array<std::uint16_t, kMaxGpus> through = {};  // by GPU: to it and on from there
  bool operator==(const Route&) const = default;
};

// It leads through other GPUs, all of it or in part.
inline bool is_detour(const Route& route) { return route.way == Route::Way::kGpu || route.way == Route::Way::kStriped; }

// What a router may ask while it answers, about links and memory of the whole server. A link is asked for by its ends,
// the host or a GPU each, in the direction of the copy.
class RouteQueries {
 public:
  virtual unsigned gpu_count() const = 0;
  // The host and any GPU, and two GPUs that are peers. What follows about links holds where they are joined.
  virtual bool joined(ProcessorId from, ProcessorId to) const = 0;
  // When the copies are done that were submitted to the link so far, in this direction.
  virtual Nanoseconds busy_until(ProcessorId from, ProcessorId to) const = 0;
  // How long a copy of contiguous bytes takes while the link, and what it shares, is otherwise idle.
  virtual Nanoseconds unloaded_time(ProcessorId from, ProcessorId to, std::uint64_t bytes) const = 0;
  // Free memory of a GPU, in chunks of 2 MB.
  virtual std::uint32_t free_chunks(unsigned gpu) const = 0;

  // Harvesting (driver/harvest.h). All are false or 0 where the server does not.
  // Spare memory of the GPU can take this move: its reserve stays free, it is a peer, it holds nothing of the block.
  virtual bool has_room(unsigned gpu) const = 0;
  // As many blocks are on their way to its spare memory as the driver begins ahead of need: one more means kLater.
  virtual bool path_full(unsigned gpu) const = 0;
  // Blocks in its spare memory that the host has no copy of yet.
  virtual std::uint32_t pending_chunks(unsigned gpu) const = 0;
  // It evicted something since a peer last took spare memory of it.
  virtual bool harvests(unsigned gpu) const = 0;

 protected:
  ~RouteQueries() = default;
};

// Slot `route`.
class Router {
 public:
  virtual ~Router() = default;

  // The way of a move, which has not begun. A copy in several hops is made hop by hop, block by block: the next hop
  // begins when the one before has ended. (Copies of the driver's writer, which saves what lies in spare memory on the
  // host, are not asked about.)
  virtual Route route(const Move& move, const RouteQueries& queries) = 0;

  // So many kernels, copies and memsets of programs run on the GPU from now on, this one or another. Class D3 and up.
  virtual void on_kernels([[maybe_unused]] unsigned gpu, [[maybe_unused]] unsigned running) {}

  // As Prefetcher::add_state.
  virtual void add_state(StateDigest& digest) const { digest.refuse(); }
};

// What is wrong with an answer: "through GPU 9, which does not exist". Empty: nothing.
std::string route_error(const Route& route, const Move& move, const RouteQueries& queries);

// "block 7 from GPU 0 to the host", for messages.
std::string describe(const Move& move);

}  // namespace uvmsim::policy
