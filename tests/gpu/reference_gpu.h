// SPDX-License-Identifier: Apache-2.0
// The front end with one event per request, in one order of time for all SMs: a slow but simple implementation. It
// shares only constants, programs and page tables with ComponentGpu.
//
// As in the component, one thing is decided for an access as a whole: whether its page is mapped, when its turn comes.
#pragma once

#include <deque>
#include <queue>
#include <tuple>

#include "tests/gpu/small_kernel.h"

namespace uvmsim::gpu {

class ReferenceGpu {
 public:
  ReferenceGpu(const SmallKernel& kernel, const MappedPages& mapped) : kernel_(kernel), mapped_(mapped) {
    sms_.resize(kernel.sms.size());
    queues_.resize(kernel.path.gpcs);
    last_gpc_ = kernel.path.gpcs - 1;
    for (std::uint32_t i = 0; i < sms_.size(); ++i) {
      sms_[i].warps.resize(kernel.sms[i].size());
      for (std::uint32_t w = 0; w < kernel.sms[i].size(); ++w) {
        if (!kernel.sms[i][w].steps.empty()) add(0, Kind::kReady, i, w);
      }
    }
  }

  bool active() const { return !events_.empty(); }

  void compute(std::int64_t until, std::vector<SmallFault>& buffer) {
    while (!events_.empty() && std::get<0>(events_.top()) / 1000 <= until) {
      const auto [time_ps, kind, sm, sequence, warp] = events_.top();
      events_.pop();
      switch (kind) {
        case Kind::kReady:
          sms_[sm].ready.push_back(warp);
          turn_at(sm, time_ps / 1000);
          break;
        case Kind::kTurn:
          sms_[sm].has_turn = false;
          turn(sm, time_ps / 1000);
          break;
        case Kind::kUnit:
          if (time_ps != look_ps_) break;  // the unit looked earlier
          look_ps_ = -1;
          unit(time_ps, buffer);
          break;
      }
    }
  }

  void replay(std::int64_t now, std::uint64_t window) {
    for (auto& queue : queues_) queue.clear();
    for (std::uint32_t i = 0; i < sms_.size(); ++i) {
      Sm& sm = sms_[i];
      const std::int64_t at = now + resume_delay(kernel_.path, window, i);
      std::int64_t again = at;
      sm.stop = -1;
      sm.passed = false;
      std::vector<Request> still;
      for (const Request& request : sm.outstanding) {
        if (mapped_.test(request.page)) {
          if (!loads(request.kind)) continue;
          Warp& warp = sm.warps[request.warp];
          if (--warp.out == 0 && warp.waits) {
            warp.waits = false;
            add(at + kLatencyNs, Kind::kReady, i, request.warp);
          }
        } else {
          send(i, again, request.page);
          again += kernel_.path.request_ns;
          still.push_back(request);
        }
      }
      sm.outstanding = still;
      if (!still.empty()) sm.stop = at;
      sm.busy = std::max(sm.busy, at);
      sm.judged = false;
      turn_at(i, at);
    }
    start_unit(now);
  }

 private:
  enum class Kind { kReady, kTurn, kUnit };
  // Time in ps, kind, SM, sequence, warp.
  using Event = std::tuple<std::int64_t, Kind, std::uint32_t, std::uint64_t, std::uint32_t>;
  struct Request {
    std::uint64_t page;
    RequestKind kind;
    std::uint32_t warp;
  };
  struct Warp {
    std::size_t at = 0;
    std::uint32_t out = 0;
    bool waits = false;
  };
  struct Sm {
    std::vector<Warp> warps;
    std::deque<std::uint32_t> ready;
    std::int64_t current = -1;
    std::uint32_t request = 0;
    bool judged = false, hits = false;  // the current access
    bool has_turn = false;
    std::int64_t busy = 0;
    std::int64_t stop = -1;  // -1: none
    bool passed = false;     // an access has passed since the last replay
    std::vector<Request> outstanding;
    std::uint64_t sequence = 0;
  };
  struct Sent {
    std::int64_t time;
    std::uint32_t sm;
    std::uint64_t page;
  };

  void add(std::int64_t time, Kind kind, std::uint32_t sm, std::uint32_t warp) {
    events_.push({time * 1000, kind, sm, ++sms_[sm].sequence, warp});
  }
  void turn_at(std::uint32_t index, std::int64_t time) {
    Sm& sm = sms_[index];
    if (sm.has_turn) return;
    sm.has_turn = true;
    add(std::max(time, sm.busy), Kind::kTurn, index, 0);
  }

  void turn(std::uint32_t index, std::int64_t now) {
    Sm& sm = sms_[index];
    if (now < sm.busy) return turn_at(index, now);
    if (sm.current < 0) {
      if (sm.ready.empty()) return;
      sm.current = sm.ready.front();
      sm.ready.pop_front();
      sm.request = 0;
      sm.judged = false;
    }
    Warp& warp = sm.warps[static_cast<std::size_t>(sm.current)];
    const SmallWarp& program = kernel_.sms[index][static_cast<std::size_t>(sm.current)];
    const Step& step = program.steps[warp.at];
    if (!sm.judged) {
      sm.judged = true;
      sm.hits = mapped_.test(step.page);
    }
    const FaultPath& path = kernel_.path;
    if (sm.stop >= 0 && now >= sm.stop) return;
    std::int64_t takes = kPassNs;
    if (sm.hits) {
      sm.passed = true;
    } else {
      if (full(sm, step) || new_region_too_many(sm, step.page)) {
        sm.stop = sm.stop < 0 ? now : std::min(sm.stop, now);
        return;
      }
      if (sm.stop < 0) sm.stop = now + known_after(index, step.page);
      send(index, now, step.page);
      start_unit(now);
      sm.outstanding.push_back({step.page, step.kind, static_cast<std::uint32_t>(sm.current)});
      if (loads(step.kind)) ++warp.out;
      const bool last = sm.request + 1 == step.requests;
      const bool lanes = step.kind == RequestKind::kLoadLane || step.kind == RequestKind::kStoreLane;
      const std::int64_t within = step.kind == RequestKind::kStore       ? path.request_ns
                                  : step.kind == RequestKind::kStoreLane ? path.store_lane_ns
                                                                         : path.load_ns;
      takes = lanes || !last ? within : step.apart ? path.instruction_ns : path.request_ns;
    }
    sm.busy = now + takes;
    if (++sm.request == step.requests) {
      sm.request = 0;
      sm.judged = false;
      ++warp.at;
      if (step.ends) {
        const auto done = static_cast<std::uint32_t>(sm.current);
        sm.current = -1;
        if (warp.at != program.steps.size()) {
          if (!loads(step.kind) || !step.awaited) {
            add(sm.busy, Kind::kReady, index, done);
          } else if (warp.out == 0) {
            add(sm.busy + kLatencyNs, Kind::kReady, index, done);
          } else {
            warp.waits = true;
          }
        }
      }
    }
    turn_at(index, sm.busy);
  }

  bool full(const Sm& sm, const Step& step) const {
    std::uint32_t out = 0;
    for (const Request& request : sm.outstanding) out += loads(request.kind) == loads(step.kind);
    const std::uint32_t most = loads(step.kind)                       ? kernel_.path.load_requests
                               : step.kind == RequestKind::kStoreLane ? kernel_.path.store_lanes
                                                                      : kernel_.path.store_packets;
    return out >= most;
  }
  bool new_region_too_many(const Sm& sm, std::uint64_t page) const {
    std::set<std::uint64_t> regions;
    for (const Request& request : sm.outstanding) regions.insert(request.page / 8);
    return regions.size() >= kernel_.path.regions && !regions.contains(page / 8);
  }

  std::int64_t known_after(std::uint32_t index, std::uint64_t page) {
    const FaultPath& path = kernel_.path;
    const Sm& sm = sms_[index];
    const std::int64_t at_hand = sm.ready.size() >= path.busy_warps ? path.known_busy_ns : path.known_ns;
    const PageMask& mapped = mapped_.block(page);
    const auto half = [&](std::uint64_t first) { return mapped.count_range(static_cast<unsigned>(first % 512), 128); };
    if (mapped.count() == 0) {
      if (!sm.passed) return path.known_far_ns;
      return page / 512 % 8 == 0 ? path.known_half_ns : at_hand;
    }
    if (half(page / 128 * 128) != 0) return at_hand;
    const std::uint64_t other = page / 128 % 2 == 0 ? page / 128 * 128 + 128 : page / 128 * 128 - 128;
    return half(other) != 0 ? path.known_half_ns : path.known_far_ns;
  }

  // Queues in order of sending; at equal times in order of SM.
  void send(std::uint32_t sm, std::int64_t time, std::uint64_t page) {
    auto& queue = queues_[kernel_.gpc_of_sm[sm]];
    const auto later = [](const Sent& a, const Sent& b) { return std::tie(a.time, a.sm) < std::tie(b.time, b.sm); };
    const Sent sent{time, sm, page};
    queue.insert(std::upper_bound(queue.begin(), queue.end(), sent, later), sent);
  }
  // Lets the unit look at its queues at `time_ps`, unless it looks earlier anyway.
  void look_at_ps(std::int64_t time_ps) {
    if (look_ps_ >= 0 && look_ps_ <= time_ps) return;
    look_ps_ = time_ps;
    events_.push({time_ps, Kind::kUnit, 0, 0, 0});
  }
  void start_unit(std::int64_t now) { look_at_ps(std::max(now * 1000, free_ps_)); }
  void unit(std::int64_t now_ps, std::vector<SmallFault>& buffer) {
    const std::int64_t report_ps = std::int64_t{kernel_.path.report_ns} * 1000;
    std::int64_t soonest_ps = -1;
    for (std::size_t turn = 1; turn <= queues_.size(); ++turn) {
      const std::size_t gpc = (last_gpc_ + turn) % queues_.size();
      if (queues_[gpc].empty()) continue;
      const std::int64_t ready_ps = queues_[gpc].front().time * 1000 + report_ps;
      if (ready_ps > now_ps) {
        soonest_ps = soonest_ps < 0 ? ready_ps : std::min(soonest_ps, ready_ps);
        continue;
      }
      buffer.push_back({now_ps / 1000, queues_[gpc].front().sm, queues_[gpc].front().page});
      queues_[gpc].pop_front();
      last_gpc_ = gpc;
      free_ps_ = now_ps + static_cast<std::int64_t>(kernel_.path.fault_ps);
      soonest_ps = free_ps_;
      break;
    }
    if (soonest_ps >= 0) look_at_ps(soonest_ps);
  }

  const SmallKernel& kernel_;
  const MappedPages& mapped_;
  std::vector<Sm> sms_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<std::deque<Sent>> queues_;  // by GPC
  std::int64_t look_ps_ = -1;             // -1: nothing waits
  std::int64_t free_ps_ = 0;
  std::size_t last_gpc_ = 0;
};

}  // namespace uvmsim::gpu
