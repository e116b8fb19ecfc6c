// SPDX-License-Identifier: Apache-2.0
// G10's choice of which memory leaves the GPU when, and when it returns (src/analysis.cc of its artifact, by its
// published description): greedily the idle time that relieves memory most, as far as the link can carry it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

#include "policies/plan/swap_program.h"

namespace uvmsim::policy {

struct G10Machine {
  std::uint64_t target_bytes = 0;  // of GPU memory, for each kernel
  std::uint64_t out_bytes_per_us = 1, in_bytes_per_us = 1;
  Nanoseconds latency{};  // of a transfer
  double slack = 0.5;     // an idle time must be this many transfers longer than its own two
};

struct Swap {
  Idle idle;
  KernelNumber out_end = 0;   // leaves from the end of idle.from on, until this kernel at the latest
  KernelNumber in_begin = 0;  // returns from the begin of this kernel on
};

struct G10Schedule {
  std::vector<Swap> swaps;                         // in the order of in_begin
  std::vector<std::uint64_t> resident;             // bytes by kernel, as estimated
  std::vector<std::uint64_t> out_bytes, in_bytes;  // planned by kernel; never more than the link carries in its time
};

class G10Planner {
 public:
  G10Planner(const SwapProgram& program, const G10Machine& machine) : program_(program), machine_(machine) {
    schedule_.resident = program.resident;
    schedule_.out_bytes.resize(program.resident.size());
    schedule_.in_bytes.resize(program.resident.size());
  }

  G10Schedule plan() {
    // Areas only shrink as links fill and memory empties, so an area that was computed earlier is an upper bound.
    using Candidate = std::tuple<double, double, std::size_t>;  // area, time x size, from the last to the first
    std::priority_queue<Candidate> candidates;
    const auto candidate = [&](std::size_t i) {
      const Idle& idle = program_.idle[i];
      return Candidate{area(idle), static_cast<double>(program_.time(idle).value) * static_cast<double>(bytes(idle)),
                       program_.idle.size() - i};
    };
    for (std::size_t i = 0; i < program_.idle.size(); ++i) {
      if (worth_while(program_.idle[i]) && area(program_.idle[i]) > 0) candidates.push(candidate(i));
    }
    while (!candidates.empty() && over_target()) {
      const std::size_t i = program_.idle.size() - std::get<2>(candidates.top());
      const Candidate now = candidate(i);
      if (now < candidates.top()) {
        candidates.pop();
        if (std::get<0>(now) > 0) candidates.push(now);
        continue;
      }
      candidates.pop();
      commit(program_.idle[i]);
    }
    std::stable_sort(schedule_.swaps.begin(), schedule_.swaps.end(),
                     [](const Swap& a, const Swap& b) { return a.in_begin < b.in_begin; });
    for (Swap& swap : schedule_.swaps) come_early(swap);
    return std::move(schedule_);
  }

 private:
  std::uint64_t bytes(const Idle& idle) const { return program_.regions[idle.region].bytes(); }
  double transfer_ns(std::uint64_t size, std::uint64_t bytes_per_us) const {
    return static_cast<double>(machine_.latency.value) +
           static_cast<double>(size) * 1000 / static_cast<double>(bytes_per_us);
  }
  bool worth_while(const Idle& idle) const {
    if (!idle.live || idle.kernels() <= 1) return false;
    const double in = transfer_ns(bytes(idle), machine_.in_bytes_per_us);
    const double both = transfer_ns(bytes(idle), machine_.out_bytes_per_us) + in;
    return static_cast<double>(program_.time(idle).value) > both + machine_.slack * in;
  }
  bool over_target() const {
    return std::any_of(schedule_.resident.begin(), schedule_.resident.end(),
                       [&](std::uint64_t bytes) { return bytes > machine_.target_bytes; });
  }

  std::uint64_t duration_ns(KernelNumber k) const {
    return static_cast<std::uint64_t>((program_.begins[k + 1] - program_.begins[k]).value);
  }
  std::uint64_t room(KernelNumber k, std::uint64_t bytes_per_us, std::uint64_t planned) const {
    constexpr std::uint64_t kMost = ~std::uint64_t{0};
    const std::uint64_t ns = duration_ns(k);
    const std::uint64_t most = ns != 0 && bytes_per_us > kMost / ns ? kMost : bytes_per_us * ns / 1000;
    return most - std::min(most, planned);
  }
  std::uint64_t out_room(KernelNumber k) const { return room(k, machine_.out_bytes_per_us, schedule_.out_bytes[k]); }
  std::uint64_t in_room(KernelNumber k) const { return room(k, machine_.in_bytes_per_us, schedule_.in_bytes[k]); }

  // left_by(): the first kernel at whose end `size` bytes have left, filling the links from the begin of the idle time.
  // comes_from(): the last kernel at whose begin `size` bytes must still come. Nothing if it does not fit.
  std::optional<KernelNumber> left_by(const Idle& idle, std::uint64_t size) const {
    for (KernelNumber k = idle.from + 1; k < idle.to; ++k) {
      size -= std::min(size, out_room(k));
      if (size == 0) return k;
    }
    return std::nullopt;
  }
  std::optional<KernelNumber> comes_from(const Idle& idle, std::uint64_t size) const {
    for (KernelNumber k = idle.to - 1; k > idle.from; --k) {
      size -= std::min(size, in_room(k));
      if (size == 0) return k;
    }
    return std::nullopt;
  }

  // Returns the relieved memory above the target, times its duration.
  double area(const Idle& idle) const {
    const auto left = left_by(idle, (bytes(idle) + 1) / 2), comes = comes_from(idle, (bytes(idle) + 1) / 2);
    if (!left || !comes) return 0;
    double ns = 0;
    for (KernelNumber k = *left + 1; k < *comes; ++k) {
      if (schedule_.resident[k] > machine_.target_bytes) ns += static_cast<double>(duration_ns(k));
    }
    return ns * static_cast<double>(bytes(idle));
  }

  void commit(const Idle& idle) {
    const auto out_end = left_by(idle, bytes(idle)), in_begin = comes_from(idle, bytes(idle));
    if (!out_end || !in_begin || *in_begin <= *out_end) return;
    std::uint64_t size = bytes(idle);
    for (KernelNumber k = idle.from + 1; size != 0; ++k) {
      const std::uint64_t part = std::min(size, out_room(k));
      schedule_.out_bytes[k] += part;
      size -= part;
    }
    size = bytes(idle);
    for (KernelNumber k = idle.to - 1; size != 0; --k) {
      const std::uint64_t part = std::min(size, in_room(k));
      schedule_.in_bytes[k] += part;
      size -= part;
    }
    for (KernelNumber k = *out_end + 1; k < *in_begin; ++k) schedule_.resident[k] -= bytes(idle);
    schedule_.swaps.push_back({idle, *out_end, *in_begin});
  }

  // Moves the return earlier as long as memory allows.
  void come_early(Swap& swap) {
    const std::uint64_t size = bytes(swap.idle);
    while (swap.in_begin > swap.out_end + 1 && schedule_.resident[swap.in_begin - 1] + size <= machine_.target_bytes) {
      --swap.in_begin;
      schedule_.resident[swap.in_begin] += size;
    }
  }

  const SwapProgram& program_;
  G10Machine machine_;
  G10Schedule schedule_;
};

}  // namespace uvmsim::policy
