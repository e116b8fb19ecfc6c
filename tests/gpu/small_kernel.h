// SPDX-License-Identifier: Apache-2.0
// A kernel of few warps and a minimal driver, for tests of the front end. The kernel runs on the component
// (ComponentGpu) and on a second, slow implementation (reference_gpu.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "sim/common/random.h"
#include "sim/gpu/dispatch.h"
#include "sim/gpu/fault_unit.h"
#include "sim/gpu/known_after.h"
#include "sim/gpu/sm_requests.h"
#include "sim/policy/density_tree.h"

namespace uvmsim::gpu {

// A warp instruction's accesses to one page.
struct Step {
  std::uint64_t page = 0;
  std::uint16_t requests = 1;
  RequestKind kind = RequestKind::kLoad;
  bool ends = true;     // an instruction whose lanes have separate pages has several steps; the last one ends it
  bool awaited = true;  // of loads: the warp waits for the data
  bool apart = false;   // contiguous: the requests of the next instruction come later
};
struct SmallWarp {
  std::vector<Step> steps;
};
struct SmallKernel {
  std::vector<std::vector<SmallWarp>> sms;  // by SM
  std::vector<std::uint8_t> gpc_of_sm;
  FaultPath path;
};

constexpr std::int64_t kPassNs = 2;       // time of a request whose page is mapped
constexpr std::int64_t kLatencyNs = 450;  // of loads

inline bool loads(RequestKind kind) { return kind == RequestKind::kLoad || kind == RequestKind::kLoadLane; }
// Returns the delay until a replay reaches an SM.
inline std::int64_t resume_delay(const FaultPath& path, std::uint64_t window, std::uint32_t sm) {
  return path.resume_spread_ns == 0
             ? 0
             : static_cast<std::int64_t>(mixed_bits(window * 4096 + sm + 1) % path.resume_spread_ns);
}

struct SmallFault {
  std::int64_t arrival = 0;
  std::uint32_t sm = 0;
  std::uint64_t page = 0;
  bool operator==(const SmallFault&) const = default;
};

// Page tables of the GPU.
class MappedPages {
 public:
  explicit MappedPages(bool prefetch = true) : prefetch_(prefetch) {}
  bool test(std::uint64_t page) const {
    const auto block = blocks_.find(page / kPagesPerBlock);
    return block != blocks_.end() && block->second.test(static_cast<unsigned>(page % kPagesPerBlock));
  }
  const PageMask& block(std::uint64_t page) const {
    static const PageMask none;
    const auto block = blocks_.find(page / kPagesPerBlock);
    return block == blocks_.end() ? none : block->second;
  }
  // Maps the pages of a batch, and those that the driver's prefetcher adds.
  void serve(const std::vector<SmallFault>& batch) {
    std::map<std::uint64_t, PageMask> faulted;
    for (const SmallFault& fault : batch) {
      if (!test(fault.page)) faulted[fault.page / kPagesPerBlock].set(fault.page % kPagesPerBlock);
    }
    for (const auto& [index, pages] : faulted) {
      const PageMask resident = blocks_[index], none;
      const policy::FaultedBlock block{
          .block = BlockIndex(index), .resident = resident, .faulted = pages, .thrashing = none};
      blocks_[index] |= pages | (prefetch_ ? policy::dense_surroundings(block, 51, false) : none);
    }
  }

 private:
  bool prefetch_;
  std::map<std::uint64_t, PageMask> blocks_;
};

struct SmallBatch {
  std::vector<SmallFault> faults;
  bool operator==(const SmallBatch&) const = default;
};

// Runs the kernel to its end. `Gpu` is the kernel on an implementation; it computes up to a time and reports the faults
// that arrived by then.
template <class Gpu>
std::vector<SmallBatch> drive(Gpu& gpu, MappedPages& mapped, std::size_t most_batches = 100000) {
  constexpr std::int64_t kWakeNs = 9000, kReadNs = 2226, kServiceNs = 60000;
  std::vector<SmallBatch> batches;
  std::vector<SmallFault> buffer;
  std::size_t get = 0, put = 0;
  std::int64_t now = 0;
  std::int64_t read = -1;  // when PUT is read next; -1: the driver sleeps
  std::uint64_t window = 0;
  while (batches.size() < most_batches) {
    if (read < 0) {
      for (constexpr std::int64_t kLookNs = 1000; buffer.size() == get; now += kLookNs) {
        if (!gpu.active()) return batches;
        gpu.compute(now, buffer);
      }
      now = read = buffer[get].arrival + kWakeNs;
    }
    gpu.compute(read, buffer);
    if (get == put) {
      while (put < buffer.size() && buffer[put].arrival <= read) ++put;
    }
    const std::size_t end = std::min(put, get + 256);
    if (end == get) {
      read = -1;
      continue;
    }
    SmallBatch batch;
    batch.faults.assign(&buffer[get], &buffer[end - 1] + 1);
    get = end;
    std::set<std::uint64_t> pages;
    for (const SmallFault& fault : batch.faults) pages.insert(fault.page);
    mapped.serve(batch.faults);
    const std::int64_t replay = read + kServiceNs;
    now = replay;
    gpu.compute(replay, buffer);
    if ((batch.faults.size() - pages.size()) * 2 > batch.faults.size()) put = buffer.size();
    get = std::max(get, put);
    gpu.replay(replay, ++window);
    read = replay + kReadNs;
    batches.push_back(std::move(batch));
  }
  return batches;
}

// Runs the kernel on the component.
class ComponentGpu {
 public:
  ComponentGpu(const SmallKernel& kernel, const MappedPages& mapped)
      : kernel_(kernel), mapped_(mapped), unit_(kernel.path, kernel.gpc_of_sm) {
    sms_.resize(kernel.sms.size());
    for (std::uint32_t i = 0; i < sms_.size(); ++i) {
      Sm& sm = sms_[i];
      for (const SmallWarp& warp : kernel.sms[i]) {
        sm.warps.push_back({&warp});
        if (!warp.steps.empty()) sm.ready(0, static_cast<std::uint32_t>(sm.warps.size() - 1));
      }
    }
  }

  // Computes each SM separately, then the fault unit.
  void compute(std::int64_t until, std::vector<SmallFault>& buffer) {
    for (std::uint32_t i = 0; i < sms_.size(); ++i) serve(i, until);
    unit_.take(Nanoseconds(until), [&](Nanoseconds arrival, std::uint32_t sm, const RequestRun& run) {
      buffer.push_back({arrival.value, sm, run.page.value});
    });
  }
  bool active() const {
    return !unit_.empty() || std::any_of(sms_.begin(), sms_.end(), [](const Sm& sm) { return sm.may_go_on(); });
  }
  void replay(std::int64_t now, std::uint64_t window) {
    unit_.forget();
    for (std::uint32_t i = 0; i < sms_.size(); ++i) {
      Sm& sm = sms_[i];
      const std::int64_t at = now + resume_delay(kernel_.path, window, i);
      sm.passed = false;
      sm.requests.replay(
          kernel_.path, unit_, i, Nanoseconds(at), [&](const Miss& miss) { return mapped_.test(miss.page.value); },
          [&](const Miss& miss) {
            Warp& warp = sm.warps[miss.owner];
            if (!loads(miss.kind)) return;
            warp.out -= miss.requests;
            if (warp.waits && warp.out == 0) sm.ready(at + kLatencyNs, miss.owner);
          });
      sm.busy = std::max(sm.busy, at);
    }
  }

 private:
  struct Warp {
    const SmallWarp* program;
    std::size_t at = 0;
    std::uint32_t done = 0;  // requests of its step
    std::uint32_t out = 0;   // of its loads
    bool waits = false;
  };
  struct Sm {
    std::vector<Warp> warps;
    std::map<std::pair<std::int64_t, std::uint64_t>, std::uint32_t> queue;  // ready at, in order
    std::uint64_t sequence = 0;
    std::int64_t current = -1;
    std::int64_t busy = 0;
    bool passed = false;  // an access has passed since the last replay
    SmRequests requests;
    void ready(std::int64_t time, std::uint32_t warp) {
      warps[warp].waits = false;
      queue[{time, ++sequence}] = warp;
    }
    bool may_go_on() const { return (current >= 0 || !queue.empty()) && !requests.stopped(Nanoseconds(busy)); }
  };

  void serve(std::uint32_t index, std::int64_t until) {
    Sm& sm = sms_[index];
    const FaultPath& path = kernel_.path;
    while (true) {
      if (sm.current < 0) {
        if (sm.queue.empty()) return;
        const std::int64_t at = std::max(sm.busy, sm.queue.begin()->first.first);
        if (at > until) return;
        sm.busy = at;
        sm.current = sm.queue.begin()->second;
        sm.queue.erase(sm.queue.begin());
      }
      if (sm.busy > until) return;
      Warp& warp = sm.warps[static_cast<std::size_t>(sm.current)];
      const Step& step = warp.program->steps[warp.at];
      const std::uint32_t left = step.requests - warp.done;
      if (mapped_.test(step.page)) {
        if (sm.requests.stopped(Nanoseconds(sm.busy))) return;
        std::uint32_t pass = left;
        if (sm.requests.stop() != kNever) {
          const std::int64_t fit = (sm.requests.stop().value - sm.busy + kPassNs - 1) / kPassNs;
          pass = static_cast<std::uint32_t>(std::min<std::int64_t>(pass, fit));
        }
        sm.passed = true;
        sm.busy += kPassNs * pass;
        warp.done += pass;
      } else {
        Nanoseconds now(sm.busy);
        const Miss miss{PageIndex(step.page),
                        static_cast<std::uint32_t>(sm.current),
                        static_cast<std::uint16_t>(left),
                        static_cast<std::uint16_t>(left),
                        step.apart,
                        step.kind};
        const auto waiting = std::distance(sm.queue.begin(), sm.queue.upper_bound({sm.busy, ~std::uint64_t{0}}));
        const SmMoment moment{sm.passed, static_cast<std::uint32_t>(waiting)};
        const std::uint32_t sent = sm.requests.raise(path, unit_, index, now, miss, [&] {
          return known_after(path, PageIndex(step.page), mapped_.block(step.page), moment);
        });
        sm.busy = now.value;
        warp.done += sent;
        if (loads(step.kind)) warp.out += sent;
      }
      if (warp.done < step.requests) {
        if (sm.requests.stopped(Nanoseconds(sm.busy))) return;
        continue;
      }
      next_step(sm, warp, step);
    }
  }

  void next_step(Sm& sm, Warp& warp, const Step& step) {
    const auto index = static_cast<std::uint32_t>(sm.current);
    warp.done = 0;
    ++warp.at;
    const bool more = warp.at != warp.program->steps.size();
    if (!step.ends) return;
    sm.current = -1;
    if (!more) return;
    if (loads(step.kind) && step.awaited) {
      warp.waits = true;
      if (warp.out == 0) sm.ready(sm.busy + kLatencyNs, index);
    } else {
      sm.ready(sm.busy, index);
    }
  }

  const SmallKernel& kernel_;
  const MappedPages& mapped_;
  FaultUnit unit_;
  std::vector<Sm> sms_;
};

}  // namespace uvmsim::gpu
