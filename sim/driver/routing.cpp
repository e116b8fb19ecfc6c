// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/routing.h"

#include <fmt/format.h>

#include "sim/common/check.h"
#include "sim/driver/harvest.h"

namespace uvmsim::driver {

using policy::Move;
using policy::MoveCause;
using policy::Route;

MoveCause move_cause(TransferCause cause) {
  switch (cause) {
    case TransferCause::kUser:
      return MoveCause::kUser;
    case TransferCause::kPrefetch:
      return MoveCause::kPrefetch;
    case TransferCause::kEvict:
      return MoveCause::kEvict;
    case TransferCause::kAccessCounter:
      return MoveCause::kAccessCounter;
    case TransferCause::kFault:
      break;
  }
  return MoveCause::kFault;
}

Route Routing::ask(Work& work, unsigned gpu, Move move, std::uint32_t full) {
  Route route;
  const bool between_gpus = move.from.is_gpu() && move.to.is_gpu();
  if (asks(gpu)) {
    move.now = work.cpu;
    gpu_ = gpu;
    move_ = move;
    full_ = full;
    route = context_.gpus[gpu].router->route(move, *this);
    if (const std::string wrong = policy::route_error(route, move, *this); !wrong.empty()) {
      throw ModelError(fmt::format("{} sends {} {}", context_.route_label, describe(move), wrong));
    }
    work.cpu += context_.route_decision_cost;
  }
  if (route.way == Route::Way::kDirect && between_gpus && !joined(move.from, move.to)) route = {Route::Way::kHost, 0};
  if (route.way == Route::Way::kHost && !between_gpus) route = {};
  return route;
}

// Null where no link joins the two.
const link::CopyEngine* Routing::engine(ProcessorId from, ProcessorId to) const {
  const link::Topology& topology = context_.topology;
  if (from == to || (from.is_gpu() && !exists(from.gpu())) || (to.is_gpu() && !exists(to.gpu()))) return nullptr;
  if (from.is_none() || to.is_none()) return nullptr;
  if (from.is_host()) return &topology.engine(to.gpu(), link::Direction::kHostToDevice);
  if (to.is_host()) return &topology.engine(from.gpu(), link::Direction::kDeviceToHost);
  const link::Topology::Peer* peer = topology.peer(from.gpu(), to.gpu());
  return peer == nullptr ? nullptr : &peer->engine;
}

bool Routing::joined(ProcessorId from, ProcessorId to) const { return engine(from, to) != nullptr; }

Nanoseconds Routing::busy_until(ProcessorId from, ProcessorId to) const {
  const link::CopyEngine* link = engine(from, to);
  return link == nullptr ? Nanoseconds{} : link->busy_until();
}

Nanoseconds Routing::unloaded_time(ProcessorId from, ProcessorId to, std::uint64_t bytes) const {
  const link::CopyEngine* link = engine(from, to);
  return link == nullptr || bytes == 0 ? Nanoseconds{} : link->unloaded_time(bytes);
}

std::uint32_t Routing::free_chunks(unsigned gpu) const {
  return exists(gpu) ? context_.gpus[gpu].memory.free_chunks() : 0;
}

// The harvest's writer works off what it has begun by now: who may use spare memory sees it. (While other moves are
// in hand, nothing else changes.)
bool Routing::has_room(unsigned gpu) const {
  if (context_.harvest == nullptr || !move_.may_stay || !exists(gpu)) return false;
  context_.harvest->advance(move_.now);
  return context_.harvest->has_room(gpu_, gpu, move_.block);
}

std::uint32_t Routing::pending_chunks(unsigned gpu) const {
  if (context_.harvest == nullptr || !exists(gpu)) return 0;
  if (move_.may_stay) context_.harvest->advance(move_.now);
  return context_.harvest->pending(gpu);
}

bool Routing::harvests(unsigned gpu) const {
  return context_.harvest != nullptr && exists(gpu) && context_.harvest->harvests(gpu);
}

}  // namespace uvmsim::driver
