// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/statistics.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "sim/trace/record.h"

namespace uvmsim::trace {

namespace {

// Returns the sum of two times, saturating, because an unchecked trace may hold any values.
std::int64_t add_times(std::int64_t a, std::int64_t b) { return b > INT64_MAX - a ? INT64_MAX : a + b; }

// Does the same for counts and bytes.
std::uint64_t add_counts(std::uint64_t a, std::uint64_t b) { return b > UINT64_MAX - a ? UINT64_MAX : a + b; }
void count(std::uint64_t& sum, std::uint64_t more) { sum = add_counts(sum, more); }

std::uint64_t with_launch(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ (value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2))) * 0xff51afd7ed558ccd;
}

class Summary : public ReadingWalk {
 public:
  explicit Summary(const Header& header) : quantum_(header.quantum_bytes) { out_.header = header; }

  void add(const Record& record) {
    ++out_.records;
    ++out_.records_by_type[record.index()];
    std::visit(
        [this](const auto& alternative) {
          fields(*this, alternative);
          (*this)(alternative);
        },
        record);
  }

  // Called for the fields of a record, one by one.
  void time(std::string_view key, std::int64_t time, auto&&...) {
    if (key != "host_gap_ns") return;
    out_.host_gap_ns = add_times(out_.host_gap_ns, time);
    if (!inside_iteration_) return;
    IterationStatistics& iteration = out_.iterations.back();
    iteration.host_gap_ns = add_times(iteration.host_gap_ns, time);
  }

  // Counts a record as a whole; most records need nothing.
  template <class Other>
  void operator()(const Other&) {}

  void operator()(const ObjectAlloc& object) {
    ++out_.objects;
    ++out_.objects_by_kind[static_cast<std::size_t>(object.kind)];
    const bool managed = object.kind == ObjectKind::kManaged;
    const bool device = object.kind == ObjectKind::kDevice;
    live_[object.id] = {object.bytes, managed, device, false};
    count(live_bytes_, object.bytes);
    out_.peak_live_bytes = std::max(out_.peak_live_bytes, live_bytes_);
    if (managed) {
      count(managed_bytes_, object.bytes);
      out_.peak_managed_bytes = std::max(out_.peak_managed_bytes, managed_bytes_);
    } else if (device) {
      count(device_bytes_, object.bytes);
      out_.peak_device_bytes = std::max(out_.peak_device_bytes, device_bytes_);
    }
  }
  void operator()(const ObjectFree& object) {
    const auto found = live_.find(object.id);
    if (found != live_.end()) {
      live_bytes_ -= found->second.bytes;
      managed_bytes_ -= found->second.managed ? found->second.bytes : 0;
      device_bytes_ -= found->second.device ? found->second.bytes : 0;
      live_.erase(found);
    }
  }
  void operator()(const TensorAlloc& tensor) {
    ++out_.tensors;
    live_[tensor.id] = {tensor.bytes, false, false, false};
    count(tensor_bytes_, tensor.bytes);
    out_.peak_tensor_bytes = std::max(out_.peak_tensor_bytes, tensor_bytes_);
  }
  void operator()(const TensorFree& tensor) {
    const auto found = live_.find(tensor.id);
    if (found != live_.end()) {
      tensor_bytes_ -= found->second.bytes;
      live_.erase(found);
    }
  }
  void operator()(const Kernel& kernel) {
    KernelTotals one;
    one.kernels = 1;
    one.duration_ns = kernel.duration_ns;
    for (const ObjectAccess& access : kernel.accesses) {
      add_touched(access.object);
      for (const Extent& extent : access.extents) {
        const std::uint64_t bytes = bytes_of(access.object, extent);
        count(one.touched_bytes, bytes);
        count(one.written_bytes, extent.mode == AccessMode::kRead ? 0 : bytes);
      }
    }
    for (const Phase& phase : kernel.phases) {
      for (const PhaseAccess& access : phase.accesses) {
        for (const Extent& extent : access.extents) {
          count(one.phase_touched_bytes, bytes_of(kernel.accesses[access.slot].object, extent));
        }
      }
    }
    if (kernel.phases.empty()) one.phase_touched_bytes = one.touched_bytes;
    add(one, out_.totals);
    if (!out_.iterations.empty() && inside_iteration_) {
      IterationStatistics& iteration = out_.iterations.back();
      add(one, iteration.totals);
      iteration.launches = with_launch(iteration.launches, std::hash<std::string>{}(kernel.name));
      for (const std::uint64_t size : {kernel.grid.x, kernel.grid.y, kernel.grid.z}) {
        iteration.launches = with_launch(iteration.launches, size);
      }
    }
    out_.largest_kernel_bytes = std::max(out_.largest_kernel_bytes, one.touched_bytes);
    out_.kernels_with_phases += kernel.phases.empty() ? 0 : 1;
    out_.kernels_with_order += kernel.touches.empty() && kernel.order.empty() ? 0 : 1;
    ++out_.kernels_by_coverage.at(static_cast<std::size_t>(kernel.coverage));
    count(out_.bytes_by_coverage.at(static_cast<std::size_t>(kernel.coverage)), one.touched_bytes);
    count(out_.unknown_accesses, kernel.unknown_accesses);
    out_.kernels_with_unknown += kernel.unknown_accesses == 0 ? 0 : 1;
    names_.insert(kernel.name);
    streams_.insert(kernel.stream);
  }
  void operator()(const Memcpy& copy) { count(out_.copied_bytes.at(static_cast<std::size_t>(copy.kind)), copy.bytes); }
  void operator()(const Memset& set) { count(out_.set_bytes, set.bytes); }
  void operator()(const Range& range) {
    if (range.kind == RangeKind::kIterationBegin) {
      out_.iterations.push_back({range.index, {}});
      inside_iteration_ = true;
    } else if (range.kind == RangeKind::kIterationEnd) {
      inside_iteration_ = false;
    }
  }

  TraceStatistics take() {
    out_.kernel_names = names_.size();
    out_.streams = streams_.size();
    return std::move(out_);
  }

 private:
  struct Live {
    std::uint64_t bytes;
    bool managed, device, touched;
  };

  static void add(const KernelTotals& one, KernelTotals& sum) {
    sum.kernels += one.kernels;
    sum.duration_ns = add_times(sum.duration_ns, one.duration_ns);
    count(sum.touched_bytes, one.touched_bytes);
    count(sum.written_bytes, one.written_bytes);
    count(sum.phase_touched_bytes, one.phase_touched_bytes);
  }
  std::uint64_t bytes_of(ObjectId id, const Extent& extent) const {
    const auto found = live_.find(id);
    const std::uint64_t size = found == live_.end() ? UINT64_MAX : found->second.bytes;
    const std::uint64_t first = std::min(size, extent.first * quantum_);
    return std::min(size - first, extent.count * quantum_);
  }
  void add_touched(ObjectId id) {
    const auto found = live_.find(id);
    if (found != live_.end() && !found->second.touched) {
      found->second.touched = true;
      ++out_.touched_objects;
    }
  }

  std::uint64_t quantum_;
  TraceStatistics out_;
  std::unordered_map<ObjectId, Live> live_;  // only looked up, never iterated
  std::unordered_set<std::string> names_;    // only counted
  std::set<std::uint32_t> streams_;
  std::uint64_t live_bytes_ = 0, managed_bytes_ = 0, device_bytes_ = 0, tensor_bytes_ = 0;
  bool inside_iteration_ = false;
};

}  // namespace

std::vector<std::vector<std::size_t>> alike_iterations(const std::vector<IterationStatistics>& iterations) {
  constexpr std::int64_t kTolerancePercent = 2;
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < iterations.size(); ++i) {
    const auto is_alike = [&](const std::vector<std::size_t>& group) {
      const IterationStatistics& first = iterations[group.front()];
      const std::int64_t a = first.totals.duration_ns, b = iterations[i].totals.duration_ns;
      return first.launches == iterations[i].launches &&
             std::max(a, b) - std::min(a, b) <= std::max(a, b) / 100 * kTolerancePercent;
    };
    const auto group = std::ranges::find_if(groups, is_alike);
    (group == groups.end() ? groups.emplace_back() : *group).push_back(i);
  }
  return groups;
}

TraceStatistics summarize(TraceReader& reader) {
  TraceStatistics out = summarize(reader.header(), [&](Record& record) { return reader.next(record); });
  out.truncation = reader.truncation();
  return out;
}

TraceStatistics summarize(const Header& header, const std::function<bool(Record&)>& next) {
  Summary summary(header);
  Record record;
  while (next(record)) summary.add(record);
  return summary.take();
}

}  // namespace uvmsim::trace
