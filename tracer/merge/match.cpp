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

// Launches of one stream, in program order, as numbers that are equal when name, grid and block are.
struct Stream {
  std::vector<std::size_t> launches;
  std::vector<std::uint64_t> keys;
};
using Streams = std::map<std::uint32_t, Stream>;

class LaunchKeys {
 public:
  Streams streams(const PassLog& log) {
    Streams out;
    for (const Event& event : log.events) {
      if (const auto* at = std::get_if<LaunchEvent>(&event.what)) {
        const Launch& launch = log.launches[at->launch];
        Stream& stream = out[launch.stream];
        stream.launches.push_back(at->launch);
        stream.keys.push_back(key(log.names[launch.name], launch));
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

std::string describe(const PassLog& log, const Stream& stream, std::size_t index) {
  if (index >= stream.launches.size()) {
    return "nothing";
  }
  const Launch& launch = log.launches[stream.launches[index]];
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
  Matcher(const PassLog& timing, const PassLog& access, LaunchMatch& out)
      : timing_(timing), access_(access), out_(out) {
    LaunchKeys keys;
    timing_streams_ = keys.streams(timing);
    access_streams_ = keys.streams(access);
    out.access_of.assign(timing.launches.size(), kUnmatched);
  }

  void run() {
    const std::map<std::uint32_t, std::uint32_t> partner = pair_streams();
    for (const auto& [number, stream] : timing_streams_) {
      const auto found = partner.find(number);
      add(number, stream, found == partner.end() ? kNoLaunches : find(access_streams_, found->second));
    }
    for (const auto& [number, stream] : access_streams_) {
      const bool paired =
          std::any_of(partner.begin(), partner.end(), [n = number](const auto& pair) { return pair.second == n; });
      if (!paired) {
        add(number, kNoLaunches, stream);
      }
    }
  }

 private:
  // The passes number streams by first use, which may differ by a call that only one of them sees: of the streams whose
  // launches differ, those that begin alike belong together.
  std::map<std::uint32_t, std::uint32_t> pair_streams() const {
    std::map<std::uint32_t, std::uint32_t> partner;
    std::map<std::uint32_t, bool> taken;
    for (const auto& [number, stream] : timing_streams_) {
      if (begin_alike(stream, find(access_streams_, number))) {
        partner[number] = number;
        taken[number] = true;
      }
    }
    for (const auto& [number, stream] : timing_streams_) {
      if (partner.contains(number)) {
        continue;
      }
      for (const auto& [candidate, other] : access_streams_) {
        if (!taken[candidate] && begin_alike(stream, other)) {
          partner[number] = candidate;
          taken[candidate] = true;
          break;
        }
      }
    }
    for (const auto& [number, stream] : timing_streams_) {
      if (!partner.contains(number) && access_streams_.contains(number) && !taken[number]) {
        partner[number] = number;
      }
    }
    return partner;
  }

  static bool begin_alike(const Stream& a, const Stream& b) {
    constexpr std::size_t kLook = 8;
    const std::size_t common = std::min({kLook, a.keys.size(), b.keys.size()});
    return common > 0 &&
           std::equal(a.keys.begin(), a.keys.begin() + static_cast<std::ptrdiff_t>(common), b.keys.begin());
  }

  void add(std::uint32_t number, const Stream& timing, const Stream& access) {
    const Alignment aligned = align(timing.keys, access.keys);
    for (const auto& [i, j] : aligned.pairs) {
      out_.access_of[timing.launches[i]] = access.launches[j];
    }
    std::size_t timing_end = timing.keys.size(), access_end = access.keys.size();
    if (!access_.complete) {
      timing_end = aligned.pairs.empty() ? 0 : aligned.pairs.back().first + 1;
    }
    if (!timing_.complete) {
      access_end = aligned.pairs.empty() ? 0 : aligned.pairs.back().second + 1;
    }
    out_.matched += aligned.pairs.size();
    out_.compared += std::max(timing_end, access_end);
    if (!out_.divergence.empty()) {
      return;
    }
    std::size_t front = 0;
    while (front < aligned.pairs.size() && aligned.pairs[front] == std::pair(front, front)) {
      ++front;
    }
    if (front < timing_end || front < access_end) {
      out_.divergence = fmt::format("first difference on stream {}: in the timing pass {}, in the access pass {}",
                                    number, describe(timing_, timing, front), describe(access_, access, front));
    }
  }

  const PassLog& timing_;
  const PassLog& access_;
  LaunchMatch& out_;
  Streams timing_streams_, access_streams_;
};

// What tells memory apart besides its order: tensors, pinned memory, other memory, and the size. Sizes are compared as
// allocators round them.
std::uint64_t token_of(const Thing& thing) {
  const std::uint64_t kind = thing.tensor ? 0 : thing.kind == MemoryKind::kPinned ? 1 : 2;
  return ((thing.bytes + kQuantumBytes - 1) / kQuantumBytes) << 2 | kind;
}

// Tokens of matched launches lie above all of memory.
constexpr std::uint64_t kAnchor = std::uint64_t{1} << 62;

struct Sequence {
  std::vector<std::uint64_t> tokens;
  std::vector<ThingIndex> things;  // kNothing for launches
};

Sequence sequence_of(const PassLog& log, const World& world, const std::vector<ThingIndex>& made,
                     const std::vector<std::size_t>& anchor_of) {
  Sequence out;
  for (std::size_t i = 0; i < log.events.size(); ++i) {
    if (const auto* at = std::get_if<LaunchEvent>(&log.events[i].what)) {
      if (anchor_of[at->launch] != kUnmatched) {
        out.tokens.push_back(kAnchor | anchor_of[at->launch]);
        out.things.push_back(kNothing);
      }
    } else if (made[i] != kNothing && world.things()[made[i]].kind != MemoryKind::kModule) {
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

LaunchMatch match_launches(const PassLog& timing, const PassLog& access) {
  LaunchMatch out;
  Matcher(timing, access, out).run();
  return out;
}

std::vector<ThingIndex> match_things(const PassLog& timing, const World& timing_world,
                                     const std::vector<ThingIndex>& timing_made, const PassLog& access,
                                     const World& access_world, const std::vector<ThingIndex>& access_made,
                                     const LaunchMatch& launches) {
  std::vector<std::size_t> timing_anchors(timing.launches.size(), kUnmatched);
  std::vector<std::size_t> access_anchors(access.launches.size(), kUnmatched);
  for (std::size_t i = 0; i < launches.access_of.size(); ++i) {
    if (launches.access_of[i] != kUnmatched) {
      timing_anchors[i] = i;
      access_anchors[launches.access_of[i]] = i;
    }
  }
  const Sequence a = sequence_of(timing, timing_world, timing_made, timing_anchors);
  const Sequence b = sequence_of(access, access_world, access_made, access_anchors);
  std::vector<ThingIndex> out(access_world.things().size(), kNothing);
  for (const auto& [i, j] : align(a.tokens, b.tokens).pairs) {
    if (b.things[j] != kNothing) {
      out[b.things[j]] = a.things[i];
    }
  }
  return out;
}

}  // namespace uvmtrace
