// SPDX-License-Identifier: Apache-2.0
// Routers on random servers: moves between the host and GPUs, with and without links, spare memory that is there or
// not.
#include <algorithm>

#include "sim/conformance/checks.h"

namespace uvmsim::conformance {
namespace {

using policy::Move;
using policy::MoveCause;
using policy::PolicyEntry;
using policy::Route;

// Some of the pairs of GPUs are joined; all of it changes at random.
class RandomServer final : public policy::RouteQueries {
 public:
  RandomServer(Random& random, unsigned gpus) : gpus_(gpus) {
    for (unsigned from = 0; from <= gpus; ++from) {
      for (unsigned to = 0; to <= gpus; ++to) {
        const bool host = from == 0 || to == 0;
        joined_.push_back(from != to && (host || random.below(3) != 0));
      }
    }
    busy_until_.resize(joined_.size());
    spare_.resize(gpus);
  }

  void change(Random& random, Nanoseconds now) {
    for (Nanoseconds& until : busy_until_) {
      if (random.below(4) == 0) until = now + Nanoseconds(static_cast<std::int64_t>(random.below(100000)));
    }
    for (Spare& spare : spare_) {
      spare = {random.below(2) == 0, random.below(4) == 0, random.below(2) == 0,
               static_cast<std::uint32_t>(random.below(8)), static_cast<std::uint32_t>(random.below(8))};
    }
  }
  // Of the move in hand.
  const Move* move = nullptr;
  unsigned home = 0;

  unsigned gpu_count() const override { return gpus_; }
  bool joined(ProcessorId from, ProcessorId to) const override {
    return from.index <= gpus_ && to.index <= gpus_ && joined_[index(from, to)];
  }
  Nanoseconds busy_until(ProcessorId from, ProcessorId to) const override {
    return joined(from, to) ? busy_until_[index(from, to)] : Nanoseconds{};
  }
  Nanoseconds unloaded_time(ProcessorId from, ProcessorId to, std::uint64_t bytes) const override {
    if (!joined(from, to)) return {};
    return Nanoseconds(static_cast<std::int64_t>(1000 + bytes / (from.is_host() || to.is_host() ? 12 : 48)));
  }
  std::uint32_t free_chunks(unsigned gpu) const override { return gpu < gpus_ ? spare_[gpu].free : 0; }
  bool has_room(unsigned gpu) const override {
    return gpu < gpus_ && gpu != home && move->may_stay && spare_[gpu].room;
  }
  bool path_full(unsigned gpu) const override { return gpu < gpus_ && move->may_wait && spare_[gpu].full; }
  std::uint32_t pending_chunks(unsigned gpu) const override { return gpu < gpus_ ? spare_[gpu].pending : 0; }
  bool harvests(unsigned gpu) const override { return gpu < gpus_ && spare_[gpu].harvests; }

 private:
  struct Spare {
    bool room = false, full = false, harvests = false;
    std::uint32_t free = 0, pending = 0;
  };
  std::size_t index(ProcessorId from, ProcessorId to) const { return std::size_t{from.index} * (gpus_ + 1) + to.index; }

  unsigned gpus_;
  std::vector<bool> joined_;
  std::vector<Nanoseconds> busy_until_;
  std::vector<Spare> spare_;
};

struct RouterAnswers {
  std::vector<Route> routes;
  std::uint64_t around = 0, stay = 0, later = 0;
};

// One policy and the moves that it is asked about; every answer is checked.
RouterAnswers ask(const PolicyEntry& entry, const policy::GivenParameters& given, std::uint64_t seed,
                  std::uint64_t sequence, int moves) {
  Random random(sequence);
  const policy::Future future = random_future(sequence);
  const std::shared_ptr<policy::Router> router = entry.create_router(given, seed, 64, &future);
  const unsigned gpus = 2 + static_cast<unsigned>(random.below(7));
  RandomServer server(random, gpus);
  server.home = static_cast<unsigned>(random.below(gpus));
  const ProcessorId self = gpu_processor(server.home);
  const bool hears_kernels = entry.info.information >= policy::InformationClass::kD3;
  std::vector<std::uint32_t> running(gpus);
  RouterAnswers answers;
  for (int number = 0; number < moves; ++number) {
    Move move;
    move.now = Nanoseconds(number * 10000);
    server.change(random, move.now);
    if (hears_kernels && random.below(4) == 0) {
      const auto gpu = static_cast<unsigned>(random.below(gpus));
      running[gpu] = running[gpu] != 0 && random.below(2) == 0 ? running[gpu] - 1 : running[gpu] + 1;
      router->on_kernels(gpu, running[gpu]);
    }
    move.block = BlockIndex(random.below(256));
    move.bytes = kBasePageBytes * (1 + random.below(kPagesPerBlock));
    switch (random.below(5)) {
      case 0:  // a victim
        move.from = self;
        move.to = kHost;
        move.cause = MoveCause::kEvict;
        move.may_stay = random.below(2) == 0;
        break;
      case 1:  // ahead of need
        move.from = kHost;
        move.to = self;
        move.cause = random.below(3) == 0 ? MoveCause::kFault : MoveCause::kPrefetch;
        move.may_stay = random.below(4) != 0;
        move.may_wait = move.cause == MoveCause::kPrefetch;
        break;
      case 2:  // a CPU fault or a call
        move.from = self;
        move.to = kHost;
        move.cause = random.below(2) == 0 ? MoveCause::kFault : MoveCause::kUser;
        break;
      default:
        move.from = ProcessorId{static_cast<std::uint8_t>(random.below(gpus + 1))};
        if (move.from == self) move.from = kHost;
        move.to = self;
        move.cause = static_cast<MoveCause>(random.below(4));
    }
    server.move = &move;
    const Route route = router->route(move, server);
    if (const std::string wrong = policy::route_error(route, move, server); !wrong.empty()) {
      throw Wrong(fmt::format("move {} on a server of {} GPUs: sends {} {}", number + 1, gpus, describe(move), wrong));
    }
    answers.around += policy::is_detour(route) ? 1 : 0;
    answers.stay += route.way == Route::Way::kSpare ? 1 : 0;
    answers.later += route.way == Route::Way::kLater ? 1 : 0;
    answers.routes.push_back(route);
  }
  return answers;
}

}  // namespace

std::string check_router_parameters(const PolicyEntry& entry, const CheckOptions& options) {
  return try_parameters(entry, options, [&](const policy::GivenParameters& given) {
    ask(entry, given, options.seed, options.seed, 500);
  });
}

std::string check_random_moves(const PolicyEntry& entry, const CheckOptions& options) {
  constexpr int kSequences = 16, kMoves = 2000;
  RouterAnswers all;
  for (std::uint64_t sequence = 0; sequence < kSequences; ++sequence) {
    const RouterAnswers answers = ask(entry, options.given, options.seed, options.seed + sequence, kMoves);
    all.around += answers.around;
    all.stay += answers.stay;
    all.later += answers.later;
  }
  return fmt::format("{} servers of 2 to 8 GPUs, {} moves each; {} through a GPU, {} into spare memory, {} later",
                     kSequences, kMoves, all.around, all.stay, all.later);
}

std::string check_router_determinism(const PolicyEntry& entry, const CheckOptions& options) {
  const RouterAnswers first = ask(entry, options.given, options.seed, options.seed, 4000);
  const RouterAnswers second = ask(entry, options.given, options.seed, options.seed, 4000);
  for (std::size_t move = 0; move < first.routes.size(); ++move) {
    if (first.routes[move] != second.routes[move]) {
      throw Wrong(fmt::format("move {} took another way when the same moves were made again", move + 1));
    }
  }
  return "the same moves twice, the same ways";
}

}  // namespace uvmsim::conformance
