// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/routing.h"

#include <fmt/format.h>

#include "sim/common/check.h"
#include "sim/driver/harvest.h"

namespace uvmsim::driver {

using policy::Move;
using policy::MoveCause;
using policy::Route;

namespace {

// The queries that a router may make about one move.
class MoveQueries final : public policy::RouteQueries {
 public:
  MoveQueries(DriverContext& context, unsigned gpu, const Move& move, std::uint32_t full)
      : context_(context), gpu_(gpu), move_(move), full_(full) {}

  unsigned gpu_count() const override { return static_cast<unsigned>(context_.gpus.size()); }
  bool joined(ProcessorId from, ProcessorId to) const override { return engine(from, to) != nullptr; }
  Nanoseconds busy_until(ProcessorId from, ProcessorId to) const override {
    const link::CopyEngine* link = engine(from, to);
    return link == nullptr ? Nanoseconds{} : link->busy_until();
  }
  Nanoseconds unloaded_time(ProcessorId from, ProcessorId to, std::uint64_t bytes) const override {
    const link::CopyEngine* link = engine(from, to);
    return link == nullptr || bytes == 0 ? Nanoseconds{} : link->unloaded_time(bytes);
  }
  std::uint32_t free_chunks(unsigned gpu) const override {
    return exists(gpu) ? context_.gpus[gpu].memory.free_chunks() : 0;
  }
  bool has_room(unsigned gpu) const override {
    if (!move_.may_stay || !exists(gpu) || context_.harvest == nullptr) return false;
    context_.harvest->advance(move_.now);
    return context_.harvest->has_room(gpu_, gpu, move_.block);
  }
  bool path_full(unsigned gpu) const override { return gpu < 32 && (full_ >> gpu & 1) != 0; }
  std::uint32_t pending_chunks(unsigned gpu) const override {
    if (!exists(gpu) || context_.harvest == nullptr) return 0;
    if (move_.may_stay) context_.harvest->advance(move_.now);
    return context_.harvest->pending(gpu);
  }
  bool harvests(unsigned gpu) const override {
    return exists(gpu) && context_.harvest != nullptr && context_.harvest->harvests(gpu);
  }

 private:
  bool exists(unsigned gpu) const { return gpu < context_.gpus.size(); }

  // Returns null if no link joins the two.
  const link::CopyEngine* engine(ProcessorId from, ProcessorId to) const {
    const link::Topology& topology = context_.topology;
    if (from == to || (from.is_gpu() && !exists(from.gpu())) || (to.is_gpu() && !exists(to.gpu()))) return nullptr;
    if (from.is_none() || to.is_none()) return nullptr;
    if (from.is_host()) return &topology.engine(to.gpu(), link::Direction::kHostToDevice);
    if (to.is_host()) return &topology.engine(from.gpu(), link::Direction::kDeviceToHost);
    const link::Topology::Peer* peer = topology.peer(from.gpu(), to.gpu());
    return peer == nullptr ? nullptr : &peer->engine;
  }

  DriverContext& context_;
  const unsigned gpu_;
  const Move& move_;
  const std::uint32_t full_;
};

}  // namespace

MoveCause move_cause(TransferCause cause) {
  constexpr MoveCause kCauses[] = {MoveCause::kUser, MoveCause::kFault, MoveCause::kPrefetch, MoveCause::kEvict,
                                   MoveCause::kAccessCounter};
  static_assert(std::size(kCauses) == kTransferCauses);
  return kCauses[index_of(cause)];
}

Route choose_route(DriverContext& context, Work& work, unsigned gpu, Move move, std::uint32_t full) {
  Route route;
  const bool between_gpus = move.from.is_gpu() && move.to.is_gpu();
  if (asks_route(context, gpu)) {
    move.now = work.cpu;
    const MoveQueries queries(context, gpu, move, full);
    route = context.gpus[gpu].router->route(move, queries);
    if (const std::string wrong = policy::route_error(route, move, queries); !wrong.empty()) {
      throw ModelError(fmt::format("{} sends {} {}", context.route_label, describe(move), wrong));
    }
    work.cpu += context.route_decision_cost;
  }
  if (!between_gpus) return route.way == Route::Way::kHost ? Route{} : route;
  const bool joined = context.topology.peer(move.from.gpu(), move.to.gpu()) != nullptr;
  return route.way == Route::Way::kDirect && !joined ? Route{Route::Way::kHost, 0} : route;
}

}  // namespace uvmsim::driver
