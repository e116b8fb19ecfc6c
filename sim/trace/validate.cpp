// SPDX-License-Identifier: Apache-2.0
#include "sim/trace/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include "sim/common/error.h"
#include "sim/common/units.h"
#include "sim/trace/kernel_names.h"
#include "sim/trace/limits.h"
#include "sim/trace/live_objects.h"
#include "sim/trace/names.h"
#include "sim/trace/record.h"

namespace uvmsim::trace {

namespace {

// CUDA's limits on a launch.
constexpr std::uint32_t kMaxGridX = 0x7fffffff, kMaxGridYZ = 65535, kMaxBlockThreads = 1024;

bool allows(AccessMode allowed, AccessMode used) {
  return (static_cast<unsigned>(used) & ~static_cast<unsigned>(allowed)) == 0;
}

// Returns the extent that holds `quantum`, or null. Extents ascend.
const Extent* find_extent(const std::vector<Extent>& extents, std::uint64_t quantum) {
  const auto after = std::ranges::upper_bound(extents, quantum, {}, &Extent::first);
  if (after == extents.begin()) return nullptr;
  const Extent& extent = *std::prev(after);
  return quantum - extent.first < extent.count ? &extent : nullptr;
}

// Returns whether every quantum of `part` is in `whole` with a mode that `whole` has. Both ascend.
bool is_covered(const std::vector<Extent>& part, const std::vector<Extent>& whole) {
  auto next = whole.begin();
  for (const Extent& extent : part) {
    std::uint64_t from = extent.first;
    const std::uint64_t end = extent.first + extent.count;
    while (next != whole.end() && next->first + next->count <= from) ++next;
    for (auto cover = next; from < end; ++cover) {
      if (cover == whole.end() || cover->first > from || !allows(cover->mode, extent.mode)) return false;
      from = cover->first + cover->count;
    }
  }
  return true;
}

}  // namespace

class Validator::State : public ReadingWalk {
 public:
  State(std::string name, const Header& header) : file(std::move(name)), quantum_(header.quantum_bytes) {}

  // Called for the fields of a record, one by one.
  void device(std::string_view, std::int32_t device, std::int32_t min, auto&&...) {
    if (device < min || device > kMaxDevice) throw_input_error("device {}; allowed: {} to {}", device, min, kMaxDevice);
  }
  void dimensions(std::string_view key, const Dim3& d, auto&&...) { key == "grid" ? check_grid(d) : check_block(d); }
  void time(std::string_view, std::int64_t time, auto&&...) {
    if (time > kMaxTimeNs - total_time_) {
      throw_input_error("the times of the trace add up to more than 2^61 nanoseconds");
    }
    total_time_ += time;
  }

  // The operators check a record against the records before it.
  void operator()(const ObjectAlloc& object) { live_.allocate(object); }
  void operator()(const ObjectFree& object) { live_.release(object); }
  void operator()(const TensorAlloc& tensor) { live_.allocate(tensor); }
  void operator()(const TensorFree& tensor) { live_.release(tensor); }
  void operator()(const Kernel& kernel) {
    for (const ObjectAccess& access : kernel.accesses) {
      LiveObject& object = live_.require(access.object);
      if (object.last_kernel == records) {
        throw_input_error("object {} stands twice in the accesses of one kernel; merge them", access.object);
      }
      object.last_kernel = records;
      check_extents_inside(access.extents, access.object, object);
    }
    check_simulated_blocks(kernel);
    check_touches(kernel);
    check_phases(kernel);
    for (const FirstTouch& touch : kernel.order) check_unit(kernel, touch.slot, touch.unit, "order");
    for (const UnitCount& item : kernel.counts) check_unit(kernel, item.slot, item.unit, "counts");
  }
  void operator()(const Memcpy& copy) {
    for (const auto& [end, side] : {std::pair(copy.dst, "destination"), std::pair(copy.src, "source")}) {
      if (end.object != kNoObject) {
        check_piece(end.object, end.offset, copy.bytes);
      } else if (end.offset != 0) {
        throw_input_error("the {} of the copy has offset {} but no object", side, end.offset);
      }
    }
    if (copy.bytes == 0 || copy.bytes > kMaxObjectBytes) {
      throw_input_error("a copy of {} bytes; allowed: 1 to 2^47", copy.bytes);
    }
  }
  void operator()(const Memset& set) { check_piece(set.object, set.offset, set.bytes); }
  void operator()(const Prefetch& prefetch) { check_piece(prefetch.object, prefetch.offset, prefetch.bytes); }
  void operator()(const Advise& advise) { check_piece(advise.object, advise.offset, advise.bytes); }
  void operator()(const Discard& discard) { check_piece(discard.object, discard.offset, discard.bytes); }
  void operator()(const Sync& sync) {
    if (sync.kind != SyncKind::kEventRecord || events_.size() < kMaxEvents) {
      if (sync.kind == SyncKind::kEventRecord) events_.insert(sync.event);
    } else if (!events_.contains(sync.event)) {
      throw_input_error("event {} is one too many; allowed: {} of them", sync.event, kMaxEvents);
    }
  }
  void operator()(const HostAccess& access) {
    const LiveObject& object = live_.require(access.object);
    check_extents_inside(access.extents, access.object, object);
    for (const auto& [quantum, mode] : access.touches) {
      if (quantum >= quanta_of(object)) refuse_beyond(access.object, object, quantum, 1);
    }
  }
  void operator()(const Range& range) {
    switch (range.kind) {
      case RangeKind::kPush:
        if (open_ranges_.size() >= kMaxOpenRanges) {
          throw_input_error("range '{}' is pushed inside {} others; allowed: fewer than {}", printable(range.name),
                            open_ranges_.size(), kMaxOpenRanges);
        }
        open_ranges_.push_back(range.name);
        break;
      case RangeKind::kPop:
        if (open_ranges_.size() == (iteration_ ? ranges_before_iteration_ : 0)) {
          throw_input_error("range pop without a push{}", iteration_ ? " in this iteration" : "");
        }
        open_ranges_.pop_back();
        break;
      case RangeKind::kIterationBegin:
        if (iteration_) throw_input_error("iteration {} begins inside iteration {}", range.index, *iteration_);
        if (++iterations_ > kMaxIterations) {
          throw_input_error("iteration {} is one too many; allowed: {}", range.index, kMaxIterations);
        }
        iteration_ = range.index;
        ranges_before_iteration_ = open_ranges_.size();
        break;
      case RangeKind::kIterationEnd:
        end_iteration(range.index);
        break;
    }
  }
  // Events of memory that has been freed since are normal; they are never replayed.
  void operator()(const UvmCounter&) {}

  void finish() const {
    if (iteration_) throw_input_error("{}: end: iteration {} has no end", file, *iteration_);
    if (!open_ranges_.empty()) {
      throw_input_error("{}: end: range '{}' is never popped", file, printable(open_ranges_.back()));
    }
  }

  std::string file;  // its name, for messages
  std::uint64_t records = 0;

 private:
  std::uint64_t quanta_of(const LiveObject& object) const { return (object.bytes + quantum_ - 1) / quantum_; }

  [[noreturn]] void refuse_beyond(ObjectId id, const LiveObject& object, std::uint64_t first,
                                  std::uint64_t count) const {
    throw_input_error("quanta {} to {} reach beyond object {}, which has {} quanta of {} bytes ({} bytes)", first,
                      first + count - 1, id, quanta_of(object), quantum_, object.bytes);
  }
  void check_extents_inside(const std::vector<Extent>& extents, ObjectId id, const LiveObject& object) const {
    if (extents.empty()) return;
    const Extent& last = extents.back();  // they ascend
    if (last.first + last.count > quanta_of(object)) refuse_beyond(id, object, last.first, last.count);
  }
  void check_piece(ObjectId id, std::uint64_t offset, std::uint64_t bytes) {
    const LiveObject& object = live_.require(id);
    if (bytes == 0) throw_input_error("an operation on 0 bytes of object {}; allowed: at least 1", id);
    if (offset > object.bytes || bytes > object.bytes - offset) {
      throw_input_error("bytes from {} on ({} of them) reach beyond object {} of {} bytes", offset, bytes, id,
                        object.bytes);
    }
  }
  static void check_grid(const Dim3& grid) {
    if (grid.x > kMaxGridX || grid.y > kMaxGridYZ || grid.z > kMaxGridYZ) {
      throw_input_error("grid {}x{}x{}; CUDA allows up to {}x{}x{}", grid.x, grid.y, grid.z, kMaxGridX, kMaxGridYZ,
                        kMaxGridYZ);
    }
    if (grid.count() > kMaxGridBlocks) {
      throw_input_error("grid {}x{}x{} has {} blocks; allowed: up to 2^40", grid.x, grid.y, grid.z, grid.count());
    }
  }
  static void check_block(const Dim3& block) {
    const bool each_fits = std::max({block.x, block.y, block.z}) <= kMaxBlockThreads;  // so the product cannot wrap
    if (!each_fits || block.count() > kMaxBlockThreads) {
      throw_input_error("block {}x{}x{}; CUDA allows up to {} threads", block.x, block.y, block.z, kMaxBlockThreads);
    }
  }

  static void check_simulated_blocks(const Kernel& kernel) {
    const bool tiled = kernel.distribution == Distribution::kTiled;
    if (kernel.grid.count() <= kMaxSimulatedBlocks || !(tiled || block_per_channel_by_name(kernel.name))) return;
    throw_input_error("{} blocks; allowed: up to {} {}", kernel.grid.count(), kMaxSimulatedBlocks,
                      tiled ? "with distribution tiled" : "of a kernel whose name says that each has a channel");
  }
  void check_touches(const Kernel& kernel) const {
    for (std::size_t i = 0; i < kernel.touches.size(); ++i) {
      const Touch& touch = kernel.touches[i];
      const ObjectAccess& access = kernel.accesses[touch.slot];
      const Extent* extent = find_extent(access.extents, touch.quantum);
      if (extent == nullptr || !allows(extent->mode, touch.mode)) {
        throw_input_error("touch {} (quantum {}, {}) is not among the accesses of object {}", i, touch.quantum,
                          kAccessModeNames.at(static_cast<std::size_t>(touch.mode)), access.object);
      }
    }
  }
  void check_unit(const Kernel& kernel, std::uint32_t slot, std::uint64_t unit, std::string_view what) {
    const ObjectId id = kernel.accesses[slot].object;
    const LiveObject& object = live_.require(id);
    if (unit * kUnitBytes >= object.bytes) {
      throw_input_error("{}: unit {} of {} bytes lies beyond object {} of {} bytes", what, unit, kUnitBytes, id,
                        object.bytes);
    }
  }
  void check_phases(const Kernel& kernel) {
    std::uint64_t end = 0;
    const std::uint64_t blocks = kernel.grid.count();
    if (kernel.phases.size() > kMaxPhases) {
      throw_input_error("{} phases; allowed: up to {}", kernel.phases.size(), kMaxPhases);
    }
    for (std::size_t i = 0; i < kernel.phases.size(); ++i) {
      const Phase& phase = kernel.phases[i];
      if (phase.block_count == 0 || phase.first_block < end || phase.first_block >= blocks ||
          phase.block_count > blocks - phase.first_block) {
        throw_input_error(
            "phase {} (blocks from {} on, {} of them) is empty, overlaps the one before, or leaves the "
            "grid of {} blocks",
            i, phase.first_block, phase.block_count, blocks);
      }
      end = phase.first_block + phase.block_count;
      phase_of_slot_.resize(std::max(phase_of_slot_.size(), kernel.accesses.size()));
      ++phases_;
      for (const PhaseAccess& access : phase.accesses) {
        if (phase_of_slot_[access.slot] == phases_) throw_input_error("phase {} names slot {} twice", i, access.slot);
        phase_of_slot_[access.slot] = phases_;
        if (!is_covered(access.extents, kernel.accesses[access.slot].extents)) {
          throw_input_error("phase {}: extents of slot {} are not all among the accesses of object {}", i, access.slot,
                            kernel.accesses[access.slot].object);
        }
      }
    }
  }
  void end_iteration(std::uint64_t index) {
    if (!iteration_) throw_input_error("end of iteration {}, which has not begun", index);
    if (*iteration_ != index) throw_input_error("end of iteration {} inside iteration {}", index, *iteration_);
    if (open_ranges_.size() > ranges_before_iteration_) {
      throw_input_error("iteration {} ends while range '{}' is open", index, printable(open_ranges_.back()));
    }
    iteration_.reset();
  }

  std::uint64_t quantum_;
  LiveObjects live_;
  std::int64_t total_time_ = 0;
  std::unordered_set<std::uint64_t> events_;  // recorded so far
  std::vector<std::string> open_ranges_;
  std::optional<std::uint64_t> iteration_;
  std::size_t ranges_before_iteration_ = 0;
  std::size_t iterations_ = 0;
  std::uint64_t phases_ = 0;                  // checked so far, in all kernels
  std::vector<std::uint64_t> phase_of_slot_;  // number of the last phase that named the slot
};

void check_stream(const Record& record) {
  struct Streams : ReadingWalk {
    void stream(std::uint32_t stream) {
      if (stream > kMaxStream) throw_input_error("stream {}; allowed: 0 to {}", stream, kMaxStream);
    }
  };
  Streams walk;
  std::visit([&walk](const auto& alternative) { fields(walk, alternative); }, record);
}

Validator::Validator(std::string name, const Header& header)
    : state_(std::make_unique<State>(std::move(name), header)) {}
Validator::~Validator() = default;
Validator::Validator(Validator&&) noexcept = default;

void Validator::check(const Record& record, const Position& position) {
  ++state_->records;
  try {
    check_stream(record);
    const auto check = [this](const auto& alternative) {
      fields(*state_, alternative);
      (*state_)(alternative);
    };
    std::visit(check, record);
  } catch (const InputError& error) {
    throw_input_error("{}: {}: {}: {}", state_->file, position.text(), record_type_name(record), error.what());
  }
}

void Validator::check(const Record& record) { check(record, {state_->records + 1, 0, 0}); }

void Validator::finish(bool truncated) const {
  if (!truncated) state_->finish();
}

void AssumedOrder::add(const Record& record) {
  const auto* kernel = std::get_if<Kernel>(&record);
  if (kernel == nullptr) return;
  const std::uint64_t bytes = touched_quanta(kernel->accesses) * header_.quantum_bytes;
  ++kernels_;
  bytes_ += bytes;
  const bool known = !kernel->touches.empty() || !kernel->phases.empty() || kernel->registers_per_thread != 0;
  if (known || bytes <= kBlockBytes) return;
  ++assumed_;
  assumed_bytes_ += bytes;
}

std::string AssumedOrder::warning() const {
  const bool generated = header_.tool.starts_with("uvmsim trace generate"), recorded = !header_.gpu.empty();
  if (assumed_ == 0 || generated || recorded) return "";
  return fmt::format(
      "{} of {} kernels ({} % of the touched bytes) have a grid and a distribution that nobody recorded: how much "
      "moves under oversubscription hangs on them; give touches or phases, or compare other grids",
      assumed_, kernels_, bytes_ == 0 ? 0 : assumed_bytes_ * 100 / bytes_);
}

std::string validate(TraceReader& reader) {
  Validator validator(reader.name(), reader.header());
  AssumedOrder assumed(reader.header());
  Record record;
  while (reader.next(record)) {
    validator.check(record, reader.position());
    assumed.add(record);
  }
  validator.finish(reader.truncated());
  return assumed.warning();
}

}  // namespace uvmsim::trace
