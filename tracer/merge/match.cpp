// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "sim/common/random.h"
#include "sim/trace/names.h"
#include "tracer/merge/align.h"

namespace uvmtrace {

namespace {

// The launches of one stream, in program order, as numbers that are equal if name, grid and block are.
struct Stream {
  std::vector<std::size_t> launches;
  std::vector<std::uint64_t> keys;
};
using Streams = std::map<std::uint32_t, Stream>;

class LaunchKeys {
 public:
  // `of_launch` receives the keys by launch, unless null.
  Streams streams(const PassLog& log, std::vector<std::uint64_t>* of_launch) {
    Streams out;
    for (const Event& event : log.events) {
      if (const auto* at = std::get_if<LaunchEvent>(&event.what)) {
        const Launch& launch = log.launches[at->launch];
        Stream& stream = out[launch.stream];
        stream.launches.push_back(at->launch);
        stream.keys.push_back(key(log.names[launch.name], launch));
        if (of_launch != nullptr) (*of_launch)[at->launch] = stream.keys.back();
      }
    }
    return out;
  }

 private:
  using Shape = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                           std::uint32_t>;

  std::uint64_t key(const std::string& name, const Launch& launch) {
    const std::uint64_t number = names_.try_emplace(name, names_.size()).first->second;
    const Shape shape{number,         launch.grid.x,  launch.grid.y, launch.grid.z,
                      launch.block.x, launch.block.y, launch.block.z};
    return shapes_.try_emplace(shape, shapes_.size()).first->second;
  }

  std::unordered_map<std::string, std::uint64_t> names_;  // only looked up
  std::map<Shape, std::uint64_t> shapes_;
};

std::string describe(const PassLog& log, const std::vector<std::size_t>& launches, std::size_t index) {
  if (index >= launches.size()) return "nothing";
  const Launch& launch = log.launches[launches[index]];
  return fmt::format("launch {} is '{}' grid {}x{}x{} block {}x{}x{}", index, trace::printable(log.names[launch.name]),
                     launch.grid.x, launch.grid.y, launch.grid.z, launch.block.x, launch.block.y, launch.block.z);
}

const Stream kNoLaunches;

const Stream& find(const Streams& streams, std::uint32_t number) {
  const auto found = streams.find(number);
  return found == streams.end() ? kNoLaunches : found->second;
}

class Matcher {
 public:
  Matcher(const PassLog& timing, const PassLog& access) : timing_(timing), access_(access) {
    LaunchKeys keys;
    keys_.resize(timing.launches.size());
    timing_streams_ = keys.streams(timing, &keys_);
    access_streams_ = keys.streams(access, nullptr);
    const std::map<std::uint32_t, std::uint32_t> partner = pair_streams();
    for (const auto& [number, stream] : timing_streams_) {
      const auto found = partner.find(number);
      add(number, stream, found == partner.end() ? kNoLaunches : find(access_streams_, found->second));
    }
    for (const auto& [number, stream] : access_streams_) {
      const bool paired =
          std::any_of(partner.begin(), partner.end(), [n = number](const auto& pair) { return pair.second == n; });
      if (!paired) add(number, kNoLaunches, stream);
    }
  }

  LaunchMatch run(std::uint32_t thousandths, bool drop_prologue) {
    LaunchMatch whole = behind({});
    if (whole.at_least(thousandths) || !drop_prologue) return whole;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      if (!whole_[i]) set_pairs(i, align_ends_of(*timing_keys_[i], *access_keys_[i], thousandths));
    }
    const std::optional<Cut> cut = find_cut(timing_, access_, pairs_, keys_, thousandths);
    if (!cut) return whole;
    LaunchMatch rest = behind(*cut);
    rest.prologue = Prologue{launches_before(timing_, cut->timing), launches_before(access_, cut->access),
                             whole.matched, whole.compared, std::move(whole.divergence)};
    return rest;
  }

 private:
  // The passes number streams by first use, and the numbers may differ because of a call that only one pass records. Of
  // streams whose launches differ, those that begin alike are paired, else those that end alike.
  std::map<std::uint32_t, std::uint32_t> pair_streams() const {
    std::map<std::uint32_t, std::uint32_t> partner;
    std::map<std::uint32_t, bool> taken;
    const auto join = [&](std::uint32_t number, std::uint32_t other) {
      partner[number] = other;
      taken[other] = true;
    };
    const auto join_alike = [&](auto&& alike) {
      for (const auto& [number, stream] : timing_streams_) {
        if (!partner.contains(number) && !taken[number] && alike(stream, find(access_streams_, number))) {
          join(number, number);
        }
      }
      for (const auto& [number, stream] : timing_streams_) {
        for (auto other = access_streams_.begin(); !partner.contains(number) && other != access_streams_.end();
             ++other) {
          if (!taken[other->first] && alike(stream, other->second)) join(number, other->first);
        }
      }
    };
    join_alike([](const Stream& a, const Stream& b) {
      return alike(a.keys.begin(), a.keys.end(), b.keys.begin(), b.keys.end());
    });
    join_alike([](const Stream& a, const Stream& b) {
      return alike(a.keys.rbegin(), a.keys.rend(), b.keys.rbegin(), b.keys.rend());
    });
    for (const auto& [number, stream] : timing_streams_) {
      if (!partner.contains(number) && access_streams_.contains(number) && !taken[number]) join(number, number);
    }
    return partner;
  }

  template <class Iterator>
  static bool alike(Iterator a, Iterator a_end, Iterator b, Iterator b_end) {
    constexpr std::ptrdiff_t kLook = 8;
    const std::ptrdiff_t common = std::min({kLook, a_end - a, b_end - b});
    return common > 0 && std::equal(a, a + common, b);
  }

  void add(std::uint32_t number, const Stream& timing, const Stream& access) {
    StreamPair& pair = pairs_.emplace_back();
    pair.number = number;
    pair.timing = timing.launches;
    pair.access = access.launches;
    timing_keys_.push_back(&timing.keys);
    access_keys_.push_back(&access.keys);
    whole_.push_back(false);
    set_pairs(pairs_.size() - 1, align(timing.keys, access.keys));
  }

  void set_pairs(std::size_t index, Alignment&& aligned) {
    StreamPair& pair = pairs_[index];
    whole_[index] = aligned.whole;
    pair.pairs = std::move(aligned.pairs);
    pair.timing_end = pair.timing.size();
    pair.access_end = pair.access.size();
    if (!access_.complete) pair.timing_end = pair.pairs.empty() ? 0 : pair.pairs.back().first + 1;
    if (!timing_.complete) pair.access_end = pair.pairs.empty() ? 0 : pair.pairs.back().second + 1;
  }

  LaunchMatch behind(const Cut& cut) const {
    LaunchMatch out;
    out.cut = cut;
    out.access_of.assign(timing_.launches.size(), kUnmatched);
    const std::vector<std::size_t> timing_event = event_of_launch(timing_), access_event = event_of_launch(access_);
    const auto first = [](const std::vector<std::size_t>& launches, const std::vector<std::size_t>& event,
                          std::size_t place) {
      const auto found =
          std::partition_point(launches.begin(), launches.end(), [&](std::size_t l) { return event[l] < place; });
      return static_cast<std::size_t>(found - launches.begin());
    };
    for (const StreamPair& pair : pairs_) {
      std::size_t i = first(pair.timing, timing_event, cut.timing);  // the first launch that has not matched yet
      std::size_t j = first(pair.access, access_event, cut.access);
      out.compared += std::max(std::max(pair.timing_end, i) - i, std::max(pair.access_end, j) - j);
      const std::size_t i_begin = i, j_begin = j;
      for (const auto& [a, b] : pair.pairs) {
        if (a < i_begin || b < j_begin) continue;
        out.access_of[pair.timing[a]] = pair.access[b];
        ++out.matched;
        if (a == i && b == j) {
          ++i;
          ++j;
        }
      }
      if (out.divergence.empty() && (i < pair.timing_end || j < pair.access_end)) {
        out.divergence = fmt::format("first difference on stream {}: in the timing pass {}, in the access pass {}",
                                     pair.number, describe(timing_, pair.timing, i), describe(access_, pair.access, j));
      }
    }
    return out;
  }

  static std::uint64_t launches_before(const PassLog& log, std::size_t event) {
    return static_cast<std::uint64_t>(
        std::count_if(log.events.begin(), log.events.begin() + static_cast<std::ptrdiff_t>(event),
                      [](const Event& e) { return std::holds_alternative<LaunchEvent>(e.what); }));
  }

  const PassLog& timing_;
  const PassLog& access_;
  Streams timing_streams_, access_streams_;
  std::vector<std::uint64_t> keys_;  // by launch of the timing pass
  std::vector<StreamPair> pairs_;
  std::vector<const std::vector<std::uint64_t>*> timing_keys_, access_keys_;  // by pair of streams
  std::vector<bool> whole_;  // by pair of streams: the search was not given up
};

// Returns the properties that distinguish memory besides its order: tensors, pinned memory, other memory, and the size.
// Sizes are compared as allocators round them.
std::uint64_t token_of(const Thing& thing) {
  const std::uint64_t kind = thing.tensor ? 0 : thing.kind == MemoryKind::kPinned ? 1 : 2;
  return ((thing.bytes + kQuantumBytes - 1) / kQuantumBytes) << 2 | kind;
}

// Tokens of matched launches are larger than all tokens of memory.
constexpr std::uint64_t kAnchor = std::uint64_t{1} << 62;

struct Sequence {
  std::vector<std::uint64_t> tokens;
  std::vector<ThingIndex> things;  // kNothing for launches
};

Sequence sequence_of(const PassLog& log, const World& world, const std::vector<ThingIndex>& made,
                     const std::vector<bool>& kept, const std::vector<std::size_t>& anchor_of) {
  Sequence out;
  for (std::size_t i = 0; i < log.events.size(); ++i) {
    if (const auto* at = std::get_if<LaunchEvent>(&log.events[i].what)) {
      if (anchor_of[at->launch] != kUnmatched) {
        out.tokens.push_back(kAnchor | anchor_of[at->launch]);
        out.things.push_back(kNothing);
      }
    } else if (made[i] != kNothing && kept[made[i]] && world.things()[made[i]].kind != MemoryKind::kModule) {
      out.tokens.push_back(token_of(world.things()[made[i]]));
      out.things.push_back(made[i]);
    }
  }
  return out;
}

}  // namespace

bool LaunchMatch::at_least(std::uint32_t thousandths) const {
  return static_cast<uvmsim::WideUnsigned>(matched) * 1000 >= static_cast<uvmsim::WideUnsigned>(compared) * thousandths;
}

LaunchMatch match_launches(const PassLog& timing, const PassLog& access, std::uint32_t thousandths,
                           bool drop_prologue) {
  return Matcher(timing, access).run(thousandths, drop_prologue);
}

std::vector<ThingIndex> match_things(const PassLog& timing, const World& timing_world,
                                     const std::vector<ThingIndex>& timing_made, const std::vector<bool>& timing_kept,
                                     const PassLog& access, const World& access_world,
                                     const std::vector<ThingIndex>& access_made, const std::vector<bool>& access_kept,
                                     const LaunchMatch& launches) {
  std::vector<std::size_t> timing_anchors(timing.launches.size(), kUnmatched);
  std::vector<std::size_t> access_anchors(access.launches.size(), kUnmatched);
  for (std::size_t i = 0; i < launches.access_of.size(); ++i) {
    if (launches.access_of[i] != kUnmatched) {
      timing_anchors[i] = i;
      access_anchors[launches.access_of[i]] = i;
    }
  }
  const Sequence a = sequence_of(timing, timing_world, timing_made, timing_kept, timing_anchors);
  const Sequence b = sequence_of(access, access_world, access_made, access_kept, access_anchors);
  std::vector<ThingIndex> out(access_world.things().size(), kNothing);
  for (const auto& [i, j] : align(a.tokens, b.tokens).pairs) {
    if (b.things[j] != kNothing) out[b.things[j]] = a.things[i];
  }
  return out;
}

}  // namespace uvmtrace
