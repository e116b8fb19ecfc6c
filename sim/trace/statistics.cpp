// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/statistics.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "sim/trace/record.h"

namespace uvmsim::trace {

namespace {

// The sum of two times, stopping at the largest: an unchecked trace may hold any.
std::int64_t add_times(std::int64_t a, std::int64_t b) { return b > INT64_MAX - a ? INT64_MAX : a + b; }

// The same of counts and bytes.
std::uint64_t add_counts(std::uint64_t a, std::uint64_t b) { return b > UINT64_MAX - a ? UINT64_MAX : a + b; }
void count(std::uint64_t& sum, std::uint64_t more) { sum = add_counts(sum, more); }

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

  // The fields of a record, one by one.
  void time(std::string_view key, std::int64_t time, auto&&...) {
    if (key == "host_gap_ns") out_.host_gap_ns = add_times(out_.host_gap_ns, time);
  }

  // What counts of a record as a whole; nothing of most.
  template <class Other>
  void operator()(const Other&) {}

  void operator()(const ObjectAlloc& object) {
    ++out_.objects;
    const bool managed = object.kind == ObjectKind::kManaged;
    live_[object.id] = {object.bytes, managed, false};
    count(live_bytes_, object.bytes);
    out_.peak_live_bytes = std::max(out_.peak_live_bytes, live_bytes_);
    if (managed) {
      count(managed_bytes_, object.bytes);
      out_.peak_managed_bytes = std::max(out_.peak_managed_bytes, managed_bytes_);
    }
  }
  void operator()(const ObjectFree& object) {
    const auto found = live_.find(object.id);
    if (found != live_.end()) {
      live_bytes_ -= found->second.bytes;
      managed_bytes_ -= found->second.managed ? found->second.bytes : 0;
      live_.erase(found);
    }
  }
  void operator()(const TensorAlloc& tensor) {
    ++out_.tensors;
    live_[tensor.id] = {tensor.bytes, false, false};
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
    if (!out_.iterations.empty() && inside_iteration_) add(one, out_.iterations.back().totals);
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
    bool managed, touched;
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
  std::unordered_map<ObjectId, Live> live_;  // only looked up, never walked
  std::unordered_set<std::string> names_;    // only counted
  std::set<std::uint32_t> streams_;
  std::uint64_t live_bytes_ = 0, managed_bytes_ = 0, tensor_bytes_ = 0;
  bool inside_iteration_ = false;
};

}  // namespace

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
