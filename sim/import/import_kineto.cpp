// SPDX-License-Identifier: Apache-2.0
#include "sim/import/import_kineto.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sim/common/error.h"
#include "sim/import/access_set.h"
#include "sim/import/kineto_profile.h"
#include "sim/trace/kernel_names.h"
#include "sim/trace/limits.h"

namespace uvmsim::trace {

namespace {

constexpr std::uint64_t kRounding = 512;                    // of the caching allocator
constexpr std::uint64_t kUnsplit = std::uint64_t{1} << 20;  // larger blocks may exceed the request by this

std::uint64_t rounded(std::uint64_t bytes) { return (bytes + kRounding - 1) / kRounding * kRounding; }

// Live allocations by size and by last use.
class Tensors {
 public:
  struct Tensor {
    ObjectId id = kNoObject;
    std::uint64_t bytes = 0, used = 0;
    bool earlier = false;
  };
  void add(ObjectId id, std::uint64_t bytes, bool earlier) {
    by_size_[bytes].push_back({id, bytes, earlier ? 0 : ++clock_, earlier});
  }
  void remove(ObjectId id, std::uint64_t bytes) {
    std::vector<Tensor>& list = by_size_[bytes];
    std::erase_if(list, [id](const Tensor& tensor) { return tensor.id == id; });
    if (list.empty()) by_size_.erase(bytes);
  }
  // Returns the allocation for an operand of that size; null if all such allocations are among `taken`.
  Tensor* find(std::uint64_t bytes, const std::vector<ObjectId>& taken) {
    const std::uint64_t least = rounded(bytes);
    const std::uint64_t most = least > kUnsplit ? least + kUnsplit : least;
    for (auto entry = by_size_.lower_bound(least); entry != by_size_.end() && entry->first <= most; ++entry) {
      Tensor* best = nullptr;
      for (Tensor& tensor : entry->second) {
        if (std::ranges::find(taken, tensor.id) != taken.end()) continue;
        if (best == nullptr || better(tensor, *best)) best = &tensor;
      }
      if (best != nullptr) return best;
    }
    return nullptr;
  }
  void use(Tensor& tensor) { tensor.used = ++clock_; }

 private:
  // Prefers new allocations, the last used first; of the earlier ones, the least recently used.
  static bool better(const Tensor& a, const Tensor& b) {
    if (a.earlier != b.earlier) return b.earlier;
    return a.earlier ? a.used < b.used : a.used > b.used;
  }
  std::map<std::uint64_t, std::vector<Tensor>> by_size_;
  std::uint64_t clock_ = 0;
};

class KinetoConversion final : public Conversion<KinetoImportSummary> {
 public:
  KinetoConversion(const std::string& path, const KinetoImportOptions& options) : profile_(read_kineto_profile(path)) {
    if (profile_.work.empty()) {
      throw_input_error("{}: a profile without kernels; record with activities=[CPU, CUDA]", path);
    }
    if (profile_.memory.empty()) {
      throw_input_error("{}: a profile without memory events; record with profile_memory=True, record_shapes=True",
                        path);
    }
    header.quantum_bytes = KinetoImporter::kQuantumBytes;
    header.tool = "uvmsim trace import kineto, conversion 1";
    header.gpu = profile_.gpu;
    header.program = path;
    header.provenance = options.provenance;
    header.attributes = {{"accesses", "inferred from operators: inputs by their size, outputs by what was allocated"},
                         {"durations", "recorded"},
                         {"objects", "none: segments are not recorded"}};
    summary.shapes = profile_.shapes;
    const KinetoProfile::Memory& first = profile_.memory.front();
    summary.earlier_total_bytes =
        first.free ? first.total_bytes + first.bytes : first.total_bytes - std::min(first.total_bytes, first.bytes);
    nest_operators();
    order();
    find_accesses();
    for (const auto& [id, bytes] : earlier_) {
      ready.emplace_back(TensorAlloc{id, bytes, 0, kNoObject, 0, "allocated before"});
    }
  }

 private:
  // The order of entries of equal time: memory is freed before it is used.
  enum class StepKind : std::uint8_t { kStepEnd, kStepBegin, kMemory, kSync, kWork };
  struct Entry {
    std::int64_t time = 0;
    StepKind kind = StepKind::kWork;
    std::size_t index = 0;
    std::int64_t call_end = -1;
  };

  bool go_on() override {
    if (at_ == steps_.size()) return false;
    const Entry& entry = steps_[at_];
    switch (entry.kind) {
      case StepKind::kStepEnd:
        ready.emplace_back(Range{RangeKind::kIterationEnd, "", entry.index});
        break;
      case StepKind::kStepBegin:
        ready.emplace_back(Range{RangeKind::kIterationBegin, "", entry.index});
        break;
      case StepKind::kMemory:
        memory(entry);
        break;
      case StepKind::kSync:
        synchronize(entry);
        break;
      case StepKind::kWork:
        work(entry);
        break;
    }
    ++at_;
    return true;
  }

  // Finds the operator around each operator, on its thread.
  void nest_operators() {
    std::vector<std::size_t> by_start(profile_.operators.size());
    for (std::size_t i = 0; i < by_start.size(); ++i) by_start[i] = i;
    std::ranges::stable_sort(by_start, {}, [this](std::size_t i) {
      const KinetoProfile::Operator& one = profile_.operators[i];
      return std::tuple(one.thread, one.start, -one.end);
    });
    around_.assign(by_start.size(), kNone);
    std::vector<std::size_t> open;
    for (const std::size_t i : by_start) {
      const KinetoProfile::Operator& one = profile_.operators[i];
      const auto holds = [&](std::size_t outer) {
        return profile_.operators[outer].thread == one.thread && profile_.operators[outer].end >= one.end;
      };
      while (!open.empty() && !holds(open.back())) open.pop_back();
      if (!open.empty()) around_[i] = open.back();
      open.push_back(i);
    }
  }

  void order() {
    std::unordered_map<std::int64_t, std::size_t> calls;  // by correlation; never iterated
    for (std::size_t i = 0; i < profile_.calls.size(); ++i) {
      const KinetoProfile::Call& call = profile_.calls[i];
      calls.insert_or_assign(call.correlation, i);
      if (call.name.find("Synchronize") != std::string::npos) {
        steps_.push_back({call.start, StepKind::kSync, i, call.end});
      }
    }
    call_of_.assign(profile_.work.size(), kNone);
    for (std::size_t i = 0; i < profile_.work.size(); ++i) {
      const KinetoProfile::Work& work = profile_.work[i];
      const auto found = work.correlation < 0 ? calls.end() : calls.find(work.correlation);
      if (found != calls.end() && profile_.calls[found->second].start <= work.start) {
        call_of_[i] = found->second;
        const KinetoProfile::Call& call = profile_.calls[found->second];
        steps_.push_back({call.start, StepKind::kWork, i, call.end});
      } else {
        steps_.push_back({work.start, StepKind::kWork, i, -1});
      }
    }
    for (std::size_t i = 0; i < profile_.memory.size(); ++i) {
      steps_.push_back({profile_.memory[i].time, StepKind::kMemory, i, -1});
    }
    std::int64_t last_end = INT64_MIN;
    for (const KinetoProfile::Step& step : profile_.steps) {
      if (step.start < last_end || step.end <= step.start) continue;  // overlaps the last one: from another thread
      last_end = step.end;
      steps_.push_back({step.start, StepKind::kStepBegin, step.number, -1});
      steps_.push_back({step.end, StepKind::kStepEnd, step.number, -1});
      ++summary.iterations;
    }
    std::ranges::stable_sort(steps_, {}, [](const Entry& entry) { return std::tie(entry.time, entry.kind); });
  }

  // Walks the whole profile: allocations become tensors, and operands are matched to them.
  void find_accesses() {
    ids_.assign(profile_.memory.size(), kNoObject);
    accesses_.resize(profile_.work.size());
    Tensors tensors;
    struct Live {
      ObjectId id;
      std::uint64_t bytes;
    };
    std::map<std::uint64_t, Live> live;  // by address
    std::vector<std::size_t> made;       // allocations so far, by time
    const auto free = [&](std::map<std::uint64_t, Live>::iterator gone) {
      gone_.insert(gone->second.id);
      tensors.remove(gone->second.id, gone->second.bytes);
      live.erase(gone);
    };
    for (const Entry& entry : steps_) {
      if (entry.kind == StepKind::kMemory) {
        const KinetoProfile::Memory& event = profile_.memory[entry.index];
        const auto there = live.find(event.address);
        if (event.free) {
          if (there == live.end()) continue;  // allocated before; its tensor is not known
          ids_[entry.index] = there->second.id;
          free(there);
          continue;
        }
        if (there != live.end()) {
          lost_frees_[entry.index] = there->second.id;
          free(there);
        }
        const ObjectId id = ++last_id_;
        ids_[entry.index] = id;
        live.emplace(event.address, Live{id, event.bytes});
        tensors.add(id, event.bytes, false);
        made.push_back(entry.index);
        ++summary.tensors;
      } else if (entry.kind == StepKind::kWork) {
        if (profile_.work[entry.index].kind == KinetoProfile::Work::Kind::kKernel) {
          kernel_accesses(entry.index, tensors, made);
        }
      }
    }
  }

  void kernel_accesses(std::size_t index, Tensors& tensors, const std::vector<std::size_t>& made) {
    const auto found = profile_.operator_of.find(profile_.work[index].operation);
    if (found == profile_.operator_of.end()) return;
    std::size_t at = found->second;
    while (profile_.operators[at].operands.empty() && around_[at] != kNone) at = around_[at];
    const KinetoProfile::Operator& one = profile_.operators[at];
    // All launches of an operator touch the same memory.
    const auto [known, fresh] = operands_of_.try_emplace(at);
    if (fresh) {
      for (const KinetoProfile::Operand& operand : one.operands) {
        ++summary.operands;
        Tensors::Tensor* tensor = tensors.find(operand.bytes, known->second.inputs);
        if (tensor == nullptr) tensor = earlier(operand.bytes, tensors, known->second.inputs);
        if (tensor == nullptr) {
          ++summary.unmatched;
          continue;
        }
        tensors.use(*tensor);
        known->second.inputs.push_back(tensor->id);
        known->second.bytes.push_back(std::min(operand.bytes, tensor->bytes));
      }
    }
    AccessSet set;
    const auto quanta = [](std::uint64_t bytes) {
      return (bytes + KinetoImporter::kQuantumBytes - 1) / KinetoImporter::kQuantumBytes;
    };
    // Memory that was allocated within the operator and is still live is written.
    bool writes = false;
    for (std::size_t i = made.size(); i-- > 0;) {
      const KinetoProfile::Memory& event = profile_.memory[made[i]];
      if (event.time < one.start) break;
      if (event.thread != one.thread || event.time > one.end || freed(made[i])) continue;
      set.add(ids_[made[i]], 0, quanta(event.bytes), AccessMode::kWrite);
      writes = true;
    }
    const bool in_place = one.name.ends_with('_') || !writes;
    const bool copies = one.name.find("copy_") != std::string::npos || one.name.find("fill_") != std::string::npos;
    for (std::size_t i = 0; i < known->second.inputs.size(); ++i) {
      const AccessMode mode = copies     ? (i == 0 ? AccessMode::kWrite : AccessMode::kRead)
                              : in_place ? AccessMode::kReadWrite
                                         : AccessMode::kRead;
      if (gone_.contains(known->second.inputs[i])) continue;
      set.add(known->second.inputs[i], 0, quanta(known->second.bytes[i]), mode);
    }
    accesses_[index] = set.take();
  }
  bool freed(std::size_t memory) const { return gone_.contains(ids_[memory]); }

  // Adds one more tensor in the memory that the allocator held before the profile, if it held that much; otherwise
  // returns null.
  Tensors::Tensor* earlier(std::uint64_t bytes, Tensors& tensors, const std::vector<ObjectId>& taken) {
    const std::uint64_t whole = rounded(bytes);
    if (whole > summary.earlier_total_bytes - summary.earlier_bytes) return nullptr;
    const ObjectId id = ++last_id_;
    earlier_.emplace_back(id, whole);
    ++summary.earlier_tensors;
    summary.earlier_bytes += whole;
    tensors.add(id, whole, true);
    return tensors.find(bytes, taken);
  }

  void memory(const Entry& entry) {
    const KinetoProfile::Memory& event = profile_.memory[entry.index];
    if (const auto lost = lost_frees_.find(entry.index); lost != lost_frees_.end()) {
      ready.emplace_back(TensorFree{lost->second});
    }
    const ObjectId id = ids_[entry.index];
    if (id == kNoObject) return;
    if (event.free) {
      ready.emplace_back(TensorFree{id});
    } else {
      ready.emplace_back(TensorAlloc{id, event.bytes, 0, kNoObject, 0, ""});
    }
  }

  std::int64_t host_gap(const Entry& entry) {
    if (entry.call_end < 0) return 0;
    const std::int64_t gap = last_call_end_ < 0 ? 0 : std::max<std::int64_t>(entry.time - last_call_end_, 0);
    last_call_end_ = std::max(last_call_end_, entry.call_end);
    return gap;
  }

  // A wait is for the whole device, as the calls name no stream or event.
  void synchronize(const Entry& entry) { ready.emplace_back(Sync{SyncKind::kDevice, 0, 0, host_gap(entry)}); }

  static std::uint32_t stream(std::uint64_t number) {
    if (number > kMaxStream) throw_input_error("stream {}; allowed: 0 to {}", number, kMaxStream);
    return static_cast<std::uint32_t>(number);
  }

  void work(const Entry& entry) {
    KinetoProfile::Work& in = profile_.work[entry.index];
    if (in.kind == KinetoProfile::Work::Kind::kFill) {
      ++summary.fills_left_out;
    } else if (in.kind == KinetoProfile::Work::Kind::kCopy) {
      copy(entry, in);
    } else {
      kernel(entry, in);
    }
  }

  void copy(const Entry& entry, const KinetoProfile::Work& in) {
    if (in.bytes == 0) return;
    ++summary.copies;
    Memcpy out;
    out.bytes = in.bytes;
    const auto named = [&in](const char* part) { return in.name.find(part) != std::string::npos; };
    out.kind = named("HtoD")   ? CopyKind::kHostToDevice
               : named("DtoH") ? CopyKind::kDeviceToHost
               : named("HtoH") ? CopyKind::kHostToHost
                               : CopyKind::kDeviceToDevice;
    out.stream = stream(in.stream);
    const std::size_t call = call_of_[entry.index];
    out.blocking = call != kNone && profile_.calls[call].name.find("Async") == std::string::npos;
    out.host_gap_ns = host_gap(entry);
    ready.emplace_back(out);
  }

  void kernel(const Entry& entry, KinetoProfile::Work& in) {
    Kernel out;
    out.name = std::move(in.name);
    out.stream = stream(in.stream);
    out.device = in.device;
    out.grid = in.grid;
    out.block = in.block;
    out.registers_per_thread = in.registers;
    out.shared_bytes_per_block = in.shared_bytes;
    out.host_gap_ns = host_gap(entry);
    out.duration_ns = in.end - in.start;
    out.distribution = distribution_by_name(out.name);
    out.accesses = std::move(accesses_[entry.index]);
    out.coverage = out.accesses.empty() ? Coverage::kNone : Coverage::kOperatorSchema;
    if (!out.accesses.empty()) ++summary.covered_kernels;
    ++summary.kernels;
    ready.emplace_back(std::move(out));
  }

  static constexpr std::size_t kNone = SIZE_MAX;
  struct Operands {
    std::vector<ObjectId> inputs;
    std::vector<std::uint64_t> bytes;
  };

  KinetoProfile profile_;
  std::vector<std::size_t> around_;   // of each operator
  std::vector<std::size_t> call_of_;  // of each work
  std::vector<Entry> steps_;
  std::size_t at_ = 0;
  ObjectId last_id_ = 0;
  std::vector<ObjectId> ids_;                              // of each memory event
  std::unordered_map<std::size_t, ObjectId> lost_frees_;   // by memory event: the displaced allocation; never iterated
  std::unordered_map<std::size_t, Operands> operands_of_;  // by operator; never iterated
  std::unordered_set<ObjectId> gone_;                      // freed so far; never iterated
  std::vector<std::pair<ObjectId, std::uint64_t>> earlier_;
  std::vector<std::vector<ObjectAccess>> accesses_;  // of each work
  std::int64_t last_call_end_ = -1;
};

}  // namespace

KinetoImporter::KinetoImporter(const std::string& path, const KinetoImportOptions& options)
    : Importer(std::make_unique<KinetoConversion>(path, options)) {}

}  // namespace uvmsim::trace
