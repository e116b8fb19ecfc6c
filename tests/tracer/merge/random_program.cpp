// SPDX-License-Identifier: Apache-2.0
#include "tests/tracer/merge/random_program.h"

#include <algorithm>
#include <map>

#include "sim/common/random.h"
#include "tests/tracer/merge/log_builder.h"

namespace uvmtrace {

namespace {

using trace::AccessMode;
using trace::ObjectId;
constexpr std::uint64_t kSegmentBytes = 1 << 20;

// An allocation that is alive in both passes, at different addresses.
struct Live {
  ObjectId id;
  std::uint64_t timing_va, access_va, bytes;
  bool tensor, pinned;
  ObjectId parent;
};

class Writer {
 public:
  Writer(std::uint64_t seed, bool phases, std::vector<trace::Record>& out)
      : random_(seed), phases_(phases), out_(out) {}

  void step() {
    switch (random_.below(12)) {
      case 0:
        return allocate(random_.below(4) == 0);
      case 1:
      case 2:
        return make_tensor();
      case 3:
        return free_something();
      case 4:
        return copy();
      case 5:
        return synchronize();
      case 6:
        return odd_things();
      default:
        return launch();
    }
  }
  void finish() {
    if (iteration_open_) {
      wait();
      iteration(false);
    }
  }

  LogBuilder timing{Pass::kTiming}, access{Pass::kAccess};

 private:
  void allocate(bool pinned) {
    const std::uint64_t bytes = pinned ? 512 * (1 + random_.below(20)) : kSegmentBytes;
    // Allocations are apart from each other, so that no run of quanta joins two of them.
    const Live object{++last_id_, take(timing_next_), take(access_next_), bytes, false, pinned, 0};
    const char* kind = pinned ? "pinned" : "device";
    timing.alloc(object.timing_va, bytes, kind);
    access.alloc(object.access_va, bytes, kind);
    passed();
    out_.push_back(trace::ObjectAlloc{object.id, pinned ? trace::ObjectKind::kPinned : trace::ObjectKind::kManaged,
                                      bytes, object.timing_va, 0});
    live_.push_back(object);
  }
  std::uint64_t take(std::uint64_t& next) {
    const std::uint64_t at = next;
    next += kSegmentBytes * (2 + random_.below(3));
    return at;
  }

  // Makes a tensor at different places in the two passes: in the first free 16 KB of the segment, counted from either
  // end.
  void make_tensor() {
    for (const Live& segment : live_) {
      if (segment.tensor || segment.pinned) continue;
      std::vector<bool> timing_used(64, false), access_used(64, false);
      for (const Live& other : live_) {
        if (other.parent == segment.id) {
          timing_used[(other.timing_va - segment.timing_va) / 16384] = true;
          access_used[(other.access_va - segment.access_va) / 16384] = true;
        }
      }
      const auto first = std::find(timing_used.begin(), timing_used.end(), false);
      const auto last = std::find(access_used.rbegin(), access_used.rend(), false);
      if (first == timing_used.end() || random_.below(3) == 0) continue;
      const std::uint64_t offset = static_cast<std::uint64_t>(first - timing_used.begin()) * 16384;
      const std::uint64_t other = static_cast<std::uint64_t>(access_used.rend() - last - 1) * 16384;
      const Live tensor{
          ++last_id_, segment.timing_va + offset, segment.access_va + other, 1 + random_.below(16384), true, false,
          segment.id};
      timing.tensor_alloc(tensor.timing_va, tensor.bytes);
      access.tensor_alloc(tensor.access_va, tensor.bytes);
      passed();
      out_.push_back(trace::TensorAlloc{tensor.id, tensor.bytes, 0, segment.id, offset, ""});
      live_.push_back(tensor);
      return;
    }
  }

  void free_something() {
    if (live_.empty()) return;
    const Live gone = live_[random_.below(live_.size())];
    if (!gone.tensor) {
      while (true) {  // frees its tensors first, as allocators do
        const auto inside =
            std::find_if(live_.begin(), live_.end(), [&](const Live& l) { return l.parent == gone.id; });
        if (inside == live_.end()) break;
        release(*inside);
      }
    }
    release(gone);
  }
  void release(const Live gone) {
    if (gone.tensor) {
      const bool late = random_.below(2) == 0;
      timing.tensor_free(gone.timing_va);
      access.tensor_free(gone.access_va);
      passed();
      if (late) {
        timing.tensor_free(gone.timing_va, true);
        access.tensor_free(gone.access_va, true);
        passed();
      }
      out_.push_back(trace::TensorFree{gone.id});
    } else {
      timing.free(gone.timing_va, gone.pinned ? "pinned" : "device");
      access.free(gone.access_va, gone.pinned ? "pinned" : "device");
      passed();
      out_.push_back(trace::ObjectFree{gone.id});
    }
    live_.erase(std::find_if(live_.begin(), live_.end(), [&](const Live& l) { return l.id == gone.id; }));
  }

  // Returns the quanta that belong to this object or tensor alone: an object's without those of its tensors.
  std::vector<bool> own_quanta(const Live& thing) const {
    std::vector<bool> own((thing.bytes + 511) / 512, true);
    for (const Live& other : live_) {
      if (other.parent == thing.id) {
        const std::uint64_t first = (other.access_va - thing.access_va) / 512;
        std::fill_n(own.begin() + static_cast<std::ptrdiff_t>(first), (other.bytes + 511) / 512, false);
      }
    }
    return own;
  }

  void launch() {
    LogBuilder::LaunchSpec spec;
    spec.name = "kernel" + std::to_string(random_.below(5));
    spec.blocks = static_cast<std::uint32_t>(1 + random_.below(100));
    spec.stream = static_cast<std::uint32_t>(random_.below(3));
    spec.duration_ns = static_cast<std::int64_t>(random_.below(100000));
    trace::Kernel kernel = kernel_of(spec);
    std::map<std::uint64_t, AccessMode> touched;  // absolute quanta of the access pass
    for (const Live& thing : live_) {
      if (random_.below(3) != 0) continue;
      const std::vector<bool> own = own_quanta(thing);
      std::map<std::uint64_t, AccessMode> mine;
      for (std::uint64_t runs = 1 + random_.below(3); runs > 0; --runs) {
        const std::uint64_t first = random_.below(own.size());
        const std::uint64_t end = first + 1 + random_.below(own.size() - first);
        const auto mode = static_cast<AccessMode>(1 + random_.below(3));
        for (std::uint64_t q = first; q < end; ++q) {
          if (own[q]) mine[q] = mode;
        }
      }
      if (mine.empty()) continue;
      kernel.accesses.push_back({thing.id, extents_of(mine)});
      for (const auto& [q, mode] : mine) touched[thing.access_va / 512 + q] = mode;
    }
    std::sort(kernel.accesses.begin(), kernel.accesses.end(),
              [](const auto& a, const auto& b) { return a.object < b.object; });
    for (const trace::Extent& run : extents_of(touched)) {
      spec.accesses.push_back({run.first * 512, run.count * 512, run.mode});
    }
    if (phases_ && random_.below(2) == 0) add_phases(touched, spec);
    timing.launch(spec);
    access.launch(spec);
    passed();
    kernel.host_gap_ns = take_gap();
    out_.push_back(std::move(kernel));
  }

  // Puts each touched page into some of the grid's slices, or by mistake into none.
  void add_phases(const std::map<std::uint64_t, AccessMode>& touched, LogBuilder::LaunchSpec& spec) {
    const std::uint64_t count = std::min<std::uint64_t>(spec.blocks, 1 + random_.below(6));
    for (std::uint64_t k = 0; k < count; ++k) {
      const std::uint64_t first = k * spec.blocks / count, end = (k + 1) * spec.blocks / count;
      std::map<std::uint64_t, AccessMode> pages;
      for (const auto& [q, mode] : touched) {
        if (random_.below(4) != 0) pages[q / 128] = static_cast<AccessMode>(1 + random_.below(3));
      }
      PhaseRuns phase{first, end - first, {}};
      for (const trace::Extent& run : extents_of(pages)) {
        phase.pages.push_back({run.first * 65536, run.count * 65536, run.mode});
      }
      if (random_.below(8) != 0) spec.phases.push_back(std::move(phase));
    }
  }

  static std::vector<trace::Extent> extents_of(const std::map<std::uint64_t, AccessMode>& quanta) {
    std::vector<trace::Extent> out;
    for (const auto& [q, mode] : quanta) {
      if (!out.empty() && out.back().mode == mode && out.back().first + out.back().count == q) {
        ++out.back().count;
      } else {
        out.push_back({q, 1, mode});
      }
    }
    return out;
  }

  static trace::Kernel kernel_of(const LogBuilder::LaunchSpec& spec) {
    trace::Kernel kernel;
    kernel.name = spec.name;
    kernel.stream = spec.stream;
    kernel.grid = {spec.blocks, 1, 1};
    kernel.block = {128, 1, 1};
    kernel.registers_per_thread = 40;
    kernel.shared_bytes_per_block = 1024;
    kernel.duration_ns = spec.duration_ns;
    return kernel;
  }

  void copy() {
    if (live_.empty()) return;
    const Live& target = live_[random_.below(live_.size())];
    const std::uint64_t offset = random_.below(target.bytes);
    std::uint64_t bytes = 1 + random_.below(target.bytes - offset);
    if (!target.tensor && !target.pinned) {
      return;  // the memory might lie in a tensor
    }
    timing.copy(target.timing_va + offset, 64, bytes, "htod");
    access.copy(target.access_va + offset, 64, bytes, "htod");
    passed();
    trace::Memcpy out;
    out.dst = {target.id, offset};
    out.bytes = bytes;
    out.kind = trace::CopyKind::kHostToDevice;
    out.host_gap_ns = take_gap();
    out_.push_back(out);
  }

  void wait() {
    timing.sync();
    access.sync();
    passed();
    out_.push_back(trace::Sync{trace::SyncKind::kDevice, 0, 0, take_gap()});
  }
  void synchronize() {
    wait();
    if (random_.below(2) == 0) iteration(!iteration_open_);
  }
  void iteration(bool begin) {
    timing.iteration(iterations_, begin);
    access.iteration(iterations_, begin);
    passed();
    using trace::RangeKind;
    out_.push_back(trace::Range{begin ? RangeKind::kIterationBegin : RangeKind::kIterationEnd, "", iterations_});
    iterations_ += begin ? 0 : 1;
    iteration_open_ = begin;
  }

  // Adds a launch or an allocation that only one pass has.
  void odd_things() {
    LogBuilder::LaunchSpec spec;
    spec.name = "odd" + std::to_string(++odd_);
    if (random_.below(2) == 0) {
      access.launch(spec);
      access.alloc((odd_ << 30) + (std::uint64_t{1} << 50), 512 * (100000 + odd_));
      return;
    }
    trace::Kernel kernel = kernel_of(spec);
    kernel.duration_ns = 2000;
    kernel.coverage = trace::Coverage::kNone;
    if (!live_.empty()) {
      const Live& given = live_[random_.below(live_.size())];
      if (given.tensor || given.pinned) {
        spec.params = {given.timing_va + random_.below(given.bytes)};
        kernel.coverage = trace::Coverage::kParameters;
        kernel.accesses = {{given.id, {{0, (given.bytes + 511) / 512, AccessMode::kReadWrite}}}};
      }
    }
    timing.launch(spec);
    passed();
    kernel.host_gap_ns = take_gap();
    out_.push_back(std::move(kernel));
  }

  // Adds a call of the timing pass, 1000 ns after the previous one.
  void passed() {
    gap_ += first_ ? 0 : 1000;
    first_ = false;
  }
  std::int64_t take_gap() { return std::exchange(gap_, 0); }

  uvmsim::Random random_;
  bool phases_;
  std::vector<trace::Record>& out_;
  std::vector<Live> live_;
  ObjectId last_id_ = 0;
  std::uint64_t timing_next_ = 0x7f0000000000, access_next_ = 0x7e1200000000;
  std::uint64_t iterations_ = 0, odd_ = 0;
  std::int64_t gap_ = 0;
  bool first_ = true, iteration_open_ = false;
};

}  // namespace

RandomProgram::RandomProgram(std::uint64_t seed, std::uint32_t steps, bool phases) {
  Writer writer(seed, phases, trace);
  for (std::uint32_t i = 0; i < steps; ++i) writer.step();
  writer.finish();
  timing = writer.timing.text();
  access = writer.access.text();
}

}  // namespace uvmtrace
