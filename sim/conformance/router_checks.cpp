// SPDX-License-Identifier: Apache-2.0
// Checks routers on random servers: moves between the host and GPUs, with and without links, with and without spare
// memory.
#include <algorithm>

#include "sim/conformance/told_state.h"

namespace uvmsim::conformance {
namespace {

using policy::Move;
using policy::MoveCause;
using policy::PolicyEntry;
using policy::Route;

// Some pairs of GPUs are joined; everything else changes at random.
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
  // Clears the links.
  void rest() { std::fill(busy_until_.begin(), busy_until_.end(), Nanoseconds{}); }
  // The current move.
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

// One policy and its moves; every answer is checked.
class Moves final : public LifeOf<policy::Router> {
 public:
  // `sequence` determines the GPU that the policy serves, and the links.
  Moves(std::shared_ptr<policy::Router> router, policy::InformationClass information, std::uint64_t sequence)
      : Moves(std::move(router), information, Random(sequence)) {}

  void step() override {
    ++number_;
    Move move;
    move.now = now();
    server_.change(random_, move.now);
    if (is_told(policy::InformationClass::kD3) && one_in(4)) {
      const auto gpu = static_cast<unsigned>(below(gpus_));
      running_[gpu] = running_[gpu] != 0 && one_in(2) ? running_[gpu] - 1 : running_[gpu] + 1;
      policy_->on_kernels(gpu, running_[gpu]);
    }
    if (one_in(8)) listening_.kernel(random_, move.now);
    move.block = BlockIndex(below(256));
    move.bytes = kBasePageBytes * (1 + below(kPagesPerBlock));
    const ProcessorId self = gpu_processor(server_.home);
    switch (below(5)) {
      case 0:  // a victim
        move.from = self;
        move.to = kHost;
        move.cause = MoveCause::kEvict;
        move.may_stay = one_in(2);
        break;
      case 1:  // a prefetch
        move.from = kHost;
        move.to = self;
        move.cause = one_in(3) ? MoveCause::kFault : MoveCause::kPrefetch;
        move.may_stay = !one_in(4);
        move.may_wait = move.cause == MoveCause::kPrefetch;
        break;
      case 2:  // a CPU fault or a call
        move.from = self;
        move.to = kHost;
        move.cause = one_in(2) ? MoveCause::kFault : MoveCause::kUser;
        break;
      default:
        move.from = ProcessorId{static_cast<std::uint8_t>(below(gpus_ + 1))};
        if (move.from == self) move.from = kHost;
        move.to = self;
        move.cause = static_cast<MoveCause>(below(4));
    }
    server_.move = &move;
    const Route route = policy_->route(move, server_);
    if (const std::string wrong = policy::route_error(route, move, server_); !wrong.empty()) {
      throw Wrong(fmt::format("move {} on a server of {} GPUs: sends {} {}", number_, gpus_, describe(move), wrong));
    }
    around += policy::is_detour(route) ? 1 : 0;
    stay += route.way == Route::Way::kSpare ? 1 : 0;
    later += route.way == Route::Way::kLater ? 1 : 0;
    answered("route", static_cast<std::uint64_t>(route.way) << 32 | route.gpu);
    if (route.way != Route::Way::kStriped) return;
    answered("route", route.direct);
    for (const std::uint16_t weight : route.through) answered("route", weight);
  }
  Nanoseconds now() const override { return Nanoseconds(static_cast<std::int64_t>(number_) * 10000); }
  void settle() override { server_.rest(); }
  // The other state of the server is drawn anew for every move.
  void add_state(StateDigest& digest) const override {
    for (const std::uint32_t running : running_) digest.add(running);
    add_policy_state(digest);
  }
  std::uint64_t around = 0, stay = 0, later = 0;  // number of routes of each kind that the policy chose

 private:
  Moves(std::shared_ptr<policy::Router> router, policy::InformationClass information, Random random)
      : LifeOf(std::move(router), information),
        gpus_(2 + static_cast<unsigned>(random.below(7))),
        server_(random, gpus_),
        running_(gpus_) {
    server_.home = static_cast<unsigned>(random.below(gpus_));
  }

  unsigned gpus_;
  RandomServer server_;
  std::vector<std::uint32_t> running_;  // by GPU
  std::uint64_t number_ = 0;
};

Moves ask(const PolicyEntry& entry, const policy::GivenParameters& given, std::uint64_t seed, std::uint64_t sequence,
          int moves) {
  const policy::Future future = random_future(sequence);
  Moves asked(entry.create<policy::Router>(given, seed, 64, &future), entry.info.information, sequence);
  asked.draw_from(sequence);
  for (int number = 0; number < moves; ++number) asked.step();
  return asked;
}

std::string check_random_moves(const PolicyEntry& entry, const CheckOptions& options) {
  constexpr int kSequences = 16, kMoves = 2000;
  std::uint64_t around = 0, stay = 0, later = 0;
  for (std::uint64_t sequence = 0; sequence < kSequences; ++sequence) {
    const Moves asked = ask(entry, options.given, options.seed, options.seed + sequence, kMoves);
    around += asked.around;
    stay += asked.stay;
    later += asked.later;
  }
  return fmt::format("{} servers of 2 to 8 GPUs, {} moves each; {} through a GPU, {} into spare memory, {} later",
                     kSequences, kMoves, around, stay, later);
}

std::string check_router_determinism(const PolicyEntry& entry, const CheckOptions& options) {
  const auto run = [&] { return ask(entry, options.given, options.seed, options.seed, 4000).answers(); };
  check_same(run(), run(), "moves took other routes when the same moves were repeated");
  return "the same moves twice, the same routes";
}

std::string check_router_state(const PolicyEntry& entry, const CheckOptions& options) {
  return check_told_state(entry, options, 2, [&](const auto& given, const auto& future, std::uint64_t variant) {
    return std::make_unique<Moves>(entry.create<policy::Router>(given, options.seed, 64, &future),
                                   entry.info.information, variant);
  });
}

}  // namespace

std::span<const Check> checks_of(std::type_identity<policy::Router>) {
  static constexpr Check kChecks[] = {{"parameters", check_parameters<ask, 500>},
                                      {"random moves", check_random_moves},
                                      {"determinism", check_router_determinism},
                                      {"state", check_router_state}};
  return kChecks;
}

}  // namespace uvmsim::conformance
