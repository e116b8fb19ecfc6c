// SPDX-License-Identifier: Apache-2.0
// The slot `route`: over which links memory moves between the host and GPUs, and which GPU's spare memory takes evicted
// blocks.
//
// A router is asked once per move of a block, never per page, and only on servers with several GPUs. One instance
// serves one GPU: moves to it from anywhere, and moves from it to the host. Other policies decide which pages move. The
// core checks every answer: an impossible one is an error that names the policy and the reason.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "sim/common/state_digest.h"
#include "sim/common/units.h"
#include "sim/memory/processor.h"

namespace uvmsim::policy {

enum class MoveCause : std::uint8_t {
  kFault,          // an access of a GPU or of the CPU waits for it
  kPrefetch,       // by a prefetcher or a planner
  kAccessCounter,  // by an access counter or a migrate policy
  kUser,           // by a call of the program
  kEvict,
};

// Pages of one VA block that are about to move.
struct Move {
  BlockIndex block;
  // Each is the host or a GPU, never the same. An eviction goes to the host.
  ProcessorId from, to;
  std::uint64_t bytes = 0;
  MoveCause cause = MoveCause::kFault;
  // The pages may stay in spare memory of another GPU (Route::Way::kSpare) if the server harvests: a whole 2 MB victim;
  // a block of the fault batch that a helper may bring nearer before the fault service (kFault); a block ahead of need
  // (kPrefetch). For a block that stays, the next fault asks again.
  bool may_stay = false;
  // No access waits for this move: Route::Way::kLater is allowed.
  bool may_wait = false;
  Nanoseconds now{};
};

struct Route {
  enum class Way : std::uint8_t {
    kDirect,   // over the link between the two; two GPUs without a link: through the host
    kHost,     // two GPUs: through the host; else the same as kDirect
    kGpu,      // through `gpu`, which needs links to both ends; a buffer there holds a block for a moment
    kSpare,    // to spare memory of `gpu`, where it stays; needs Move::may_stay and RouteQueries::has_room
    kLater,    // not now: asked again when a running copy is done; needs Move::may_wait
    kStriped,  // in parallel stripes, as kDirect and as kGpu; `direct` and `through` are the weights
  };
  Way way = Way::kDirect;
  unsigned gpu = 0;  // for kGpu and kSpare
  // For kStriped: weights, of which not all are 0. A stripe is a run of the pages' 64 KB units, in this order.
  std::uint16_t direct = 0;                          // over the link between the two, which must exist
  std::array<std::uint16_t, kMaxGpus> through = {};  // by GPU: through it
  bool operator==(const Route&) const = default;
};

// Returns whether all or part of the route leads through other GPUs.
inline bool is_detour(const Route& route) { return route.way == Route::Way::kGpu || route.way == Route::Way::kStriped; }

// Queries about links and memory of the whole server, for a router while it answers. A link is named by its ends, the
// host or a GPU each, in the direction of the copy.
class RouteQueries {
 public:
  virtual unsigned gpu_count() const = 0;
  // Returns whether a link joins them: always for the host and a GPU, and for GPUs that are peers. The queries about
  // links below require one.
  virtual bool joined(ProcessorId from, ProcessorId to) const = 0;
  // When the copies that were submitted to the link so far, in this direction, are done.
  virtual Nanoseconds busy_until(ProcessorId from, ProcessorId to) const = 0;
  // The time of a copy of contiguous bytes while the link, and everything it shares, is otherwise idle.
  virtual Nanoseconds unloaded_time(ProcessorId from, ProcessorId to, std::uint64_t bytes) const = 0;
  // Returns the free memory of a GPU, in chunks of 2 MB.
  virtual std::uint32_t free_chunks(unsigned gpu) const = 0;

  // Harvesting (driver/harvest.h); all are false or 0 on a server without it. has_room(): spare memory of the GPU can
  // take this move: its reserve stays free, it is a peer, and it holds nothing of the block.
  virtual bool has_room(unsigned gpu) const = 0;
  // Returns whether the number of blocks on their way to its spare memory has reached the driver's limit: one more
  // means kLater.
  virtual bool path_full(unsigned gpu) const = 0;
  // The number of blocks in its spare memory of which the host has no copy yet.
  virtual std::uint32_t pending_chunks(unsigned gpu) const = 0;
  // Returns whether it evicted something since a peer last took spare memory of it.
  virtual bool harvests(unsigned gpu) const = 0;

 protected:
  ~RouteQueries() = default;
};

// Slot `route`.
class Router {
 public:
  virtual ~Router() = default;

  // Returns the route of a move that has not begun. A copy in several hops is made block by block: each hop begins when
  // the one before has ended. (Copies of the driver's writer, which saves spare memory to the host, are not routed.)
  virtual Route route(const Move& move, const RouteQueries& queries) = 0;

  // Reports the number of kernels, copies and memsets of programs that now run on a GPU, this one or another. Class D3
  // and up.
  virtual void on_kernels([[maybe_unused]] unsigned gpu, [[maybe_unused]] unsigned running) {}

  // Adds everything that later answers depend on (policy.h: Prefetcher::add_state).
  virtual void add_state(StateDigest& digest) const { digest.refuse(); }
};

// Describes what is wrong with an answer: "through GPU 9, which does not exist". Empty if it is valid.
std::string route_error(const Route& route, const Move& move, const RouteQueries& queries);

// Describes a move for messages: "block 7 from GPU 0 to the host".
std::string describe(const Move& move);

}  // namespace uvmsim::policy
