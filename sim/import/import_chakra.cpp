// SPDX-License-Identifier: Apache-2.0
#include "sim/import/import_chakra.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/common/error.h"
#include "sim/formats/decimal.h"
#include "sim/import/access_set.h"
#include "sim/import/execution_trace.h"
#include "sim/import/operator_schema.h"
#include "sim/trace/kernel_names.h"
#include "sim/trace/limits.h"

namespace uvmsim::trace {

namespace {

constexpr std::size_t kNoTraceNode = SIZE_MAX;
constexpr int kMostAround = 256;  // operators around an operator
constexpr std::uint64_t kMostChakraBlocks = std::uint64_t{1} << 20;

class ChakraConversion final : public Conversion<ChakraImportSummary> {
 public:
  ChakraConversion(const std::string& path, const ChakraImportOptions& options)
      : path_(path), trace_(read_execution_trace(path)) {
    header.quantum_bytes = ChakraImporter::kQuantumBytes;
    header.tool = "uvmsim trace import chakra, conversion 1";
    header.program = path;
    header.provenance = options.provenance;
    header.attributes = {{"accesses", "inferred from the schemas of operators"},
                         {"durations", trace_.on_gpu ? "recorded" : "not recorded; 2 us + 1 ns per 1000 bytes touched"},
                         {"objects", "none: storages are tensors"},
                         {"launches", "not recorded; a block of 256 threads for 4096 bytes touched"},
                         {"host gaps", "not recorded"}};
    if (!trace_.schema.empty()) header.attributes.emplace_back("schema", trace_.schema);
    accesses_left_ = trace_.file_bytes;
    summary.nodes = trace_.nodes.size();
    summary.durations = trace_.on_gpu;
    find_operators();
    find_work();
    if (storages_.empty()) {
      throw_input_error("{}: no operator has tensors on a GPU (cuda:N), or the trace does not name them", path);
    }
    plan();
    for (const std::size_t storage : before_) {
      ++summary.earlier_tensors;
      allocate(storage, "allocated before");
    }
  }

 private:
  using Node = ExecutionTrace::Node;
  using Kind = ExecutionTrace::Kind;
  using Tensor = ExecutionTrace::Tensor;

  // A storage from where an operator returns it until its number is used again.
  struct Storage {
    std::size_t maker = kNoTraceNode;  // kNoTraceNode: allocated before
    std::size_t first_user = kNoTraceNode, last_user = kNoTraceNode, last_writer = kNoTraceNode;
    std::uint64_t bytes = 0;
    std::size_t first_work = kNoTraceNode, last_work = kNoTraceNode;
    ObjectId id = kNoObject;
  };
  struct Touch {
    std::size_t storage = 0;
    std::uint64_t offset = 0, bytes = 0;
    AccessMode mode = AccessMode::kRead;
  };
  struct Work {
    std::size_t node = 0;
    Kind kind = Kind::kKernel;
    CopyKind copy = CopyKind::kDefault;
    std::int32_t device = 0;
    std::uint64_t iteration = 0;  // index into steps_, from 1; 0: before all
    std::vector<Touch> touches;
  };

  void find_operators() {
    for (std::size_t i = 0; i < trace_.nodes.size(); ++i) by_id_.emplace(trace_.nodes[i].id, i);
    around_.assign(trace_.nodes.size(), kNoTraceNode);
    for (std::size_t i = 0; i < trace_.nodes.size(); ++i) {
      const Node& node = trace_.nodes[i];
      const auto found = by_id_.find(node.parent);
      if (found != by_id_.end() && found->second != i) around_[i] = found->second;
      if (node.name.starts_with("ProfilerStep#")) {
        steps_.emplace_back(node.id, parse_digits(std::string_view(node.name).substr(13)).value_or(0));
      }
    }
    std::ranges::stable_sort(steps_, {}, [](const auto& step) { return step.first; });
  }

  bool within(std::size_t inner, std::size_t outer) const {
    for (int i = 0; inner != kNoTraceNode && i < kMostAround; ++i) {
      if (inner == outer) return true;
      inner = around_[inner];
    }
    return false;
  }

  void find_work() {
    for (std::size_t i = 0; i < trace_.nodes.size(); ++i) {
      const Node& node = trace_.nodes[i];
      if (node.kind == Kind::kOperator) {
        operation(i);
      } else {
        gpu_work(i);
      }
    }
  }

  // Returns the storage that a tensor is in now.
  std::size_t storage_of(const Tensor& tensor, std::size_t user) {
    const auto [found, fresh] = now_.try_emplace(tensor.storage, storages_.size());
    if (fresh) storages_.emplace_back();
    Storage& storage = storages_[found->second];
    storage.bytes = std::max(storage.bytes, tensor.offset + tensor.bytes);
    if (storage.first_user == kNoTraceNode) storage.first_user = user;
    storage.last_user = user;
    return found->second;
  }

  // Returns the storage of a tensor that an operator returns and did not take. The storage is new, unless an operator
  // around or within this one has returned or used it already.
  std::size_t returned(const Tensor& tensor, std::size_t node) {
    const auto found = now_.find(tensor.storage);
    if (found != now_.end()) {
      const Storage& known = storages_[found->second];
      const bool same = (known.maker != kNoTraceNode && (within(known.maker, node) || within(node, known.maker))) ||
                        within(known.last_user, node);
      if (!same) now_.erase(found);
    }
    const std::size_t at = storage_of(tensor, node);
    Storage& storage = storages_[at];
    if (storage.maker == kNoTraceNode && within(storage.first_user, node)) storage.maker = node;
    return at;
  }

  // Returns what an operator accesses, its returned storages included.
  std::vector<Touch> touches_of(std::size_t index) {
    const Node& node = trace_.nodes[index];
    std::vector<Touch> touches;
    const std::vector<AccessMode> modes = argument_modes(node.schema);
    const bool overwrites = overwrites_its_first(node.name);
    for (const Tensor& tensor : node.inputs) {
      if (tensor.device < 0) continue;
      AccessMode mode = tensor.argument < modes.size() ? modes[tensor.argument] : AccessMode::kRead;
      if (mode == AccessMode::kReadWrite && overwrites && tensor.argument == 0) mode = AccessMode::kWrite;
      if (node.generated) mode = AccessMode::kReadWrite;
      touches.push_back({storage_of(tensor, index), tensor.offset, tensor.bytes, mode});
    }
    std::vector<std::uint64_t> taken;
    for (const Tensor& tensor : node.inputs) taken.push_back(tensor.storage);
    std::ranges::sort(taken);
    for (const Tensor& tensor : node.outputs) {
      if (tensor.device < 0 || std::ranges::binary_search(taken, tensor.storage)) continue;
      touches.push_back({returned(tensor, index), tensor.offset, tensor.bytes, AccessMode::kWrite});
    }
    return touches;
  }

  static std::int32_t device_of(const Node& node) {
    for (const std::vector<Tensor>* list : {&node.inputs, &node.outputs}) {
      for (const Tensor& tensor : *list) {
        if (tensor.device >= 0) return tensor.device;
      }
    }
    return 0;
  }

  void operation(std::size_t index) {
    const Node& node = trace_.nodes[index];
    const std::vector<Touch> touches = touches_of(index);
    if (trace_.on_gpu || touches.empty() || (node.schema.empty() && !node.generated)) return;
    if (moves_no_data(node.name)) return;
    Work work;
    work.node = index;
    work.device = device_of(node);
    if (node.name.starts_with("aten::copy_") && node.inputs.size() == 2 &&
        (node.inputs[0].device < 0) != (node.inputs[1].device < 0)) {
      work.kind = Kind::kCopy;
      work.copy = node.inputs[0].device < 0 ? CopyKind::kDeviceToHost : CopyKind::kHostToDevice;
    } else if (node.name.starts_with("aten::_local_scalar_dense")) {
      work.kind = Kind::kCopy;
      work.copy = CopyKind::kDeviceToHost;
    } else if (std::ranges::none_of(touches, [&](const Touch& touch) {
                 return touch.mode != AccessMode::kRead && !within(storages_[touch.storage].last_writer, index);
               })) {
      return;
    }
    work.touches = touches;
    add(std::move(work));
  }

  void gpu_work(std::size_t index) {
    const Node& node = trace_.nodes[index];
    std::size_t around = around_[index];
    for (int i = 0; around != kNoTraceNode && i < kMostAround; ++i) {
      const Node& one = trace_.nodes[around];
      if (!one.inputs.empty() || !one.outputs.empty()) break;
      around = around_[around];
    }
    Work work;
    work.node = index;
    work.kind = node.kind;
    work.touches = touches_of(around == kNoTraceNode ? index : around);
    work.device = device_of(trace_.nodes[around == kNoTraceNode ? index : around]);
    if (node.kind == Kind::kCopy) {
      const auto named = [&node](const char* part) { return node.name.find(part) != std::string::npos; };
      work.copy = named("HtoD")   ? CopyKind::kHostToDevice
                  : named("DtoH") ? CopyKind::kDeviceToHost
                  : named("HtoH") ? CopyKind::kHostToHost
                                  : CopyKind::kDeviceToDevice;
    }
    add(std::move(work));
  }

  void add(Work work) {
    const std::uint64_t id = trace_.nodes[work.node].id;
    const auto after = std::ranges::upper_bound(steps_, id, {}, [](const auto& step) { return step.first; });
    work.iteration = static_cast<std::uint64_t>(after - steps_.begin());
    // Every launch names its operands in the file again.
    if (work.touches.size() > accesses_left_) throw_input_error("{}: more accesses than the file has bytes", path_);
    accesses_left_ -= work.touches.size();
    for (const Touch& touch : work.touches) {
      Storage& storage = storages_[touch.storage];
      if (storage.first_work == kNoTraceNode) storage.first_work = work_.size();
      storage.last_work = work_.size();
      if (touch.mode != AccessMode::kRead) storage.last_writer = work.node;
    }
    work_.push_back(std::move(work));
  }

  // Lists the storages that begin before each work and those that end after it.
  void plan() {
    begins_.resize(work_.size());
    ends_.resize(work_.size());
    for (std::size_t i = 0; i < storages_.size(); ++i) {
      const Storage& storage = storages_[i];
      if (storage.first_work == kNoTraceNode) continue;
      ++summary.tensors;
      summary.tensor_bytes += storage.bytes;
      if (storage.maker == kNoTraceNode) {
        before_.push_back(i);
      } else {
        begins_[storage.first_work].push_back(i);
        ends_[storage.last_work].push_back(i);
      }
    }
  }

  void allocate(std::size_t index, const std::string& name) {
    Storage& storage = storages_[index];
    storage.id = ++last_id_;
    ready.emplace_back(TensorAlloc{storage.id, storage.bytes, 0, kNoObject, 0, name});
  }

  bool go_on() override {
    if (at_ == work_.size()) {
      if (iteration_ == 0) return false;
      ready.emplace_back(Range{RangeKind::kIterationEnd, "", steps_[iteration_ - 1].second});
      iteration_ = 0;
      return true;
    }
    const Work& work = work_[at_];
    if (work.iteration > iteration_) {
      if (iteration_ != 0) ready.emplace_back(Range{RangeKind::kIterationEnd, "", steps_[iteration_ - 1].second});
      iteration_ = work.iteration;
      ready.emplace_back(Range{RangeKind::kIterationBegin, "", steps_[iteration_ - 1].second});
      ++summary.iterations;
    }
    for (const std::size_t storage : begins_[at_]) allocate(storage, trace_.nodes[storages_[storage].maker].name);
    if (work.kind == Kind::kCopy) {
      copy(work);
    } else if (work.kind == Kind::kFill) {
      fill(work);
    } else {
      kernel(work);
    }
    for (const std::size_t storage : ends_[at_]) ready.emplace_back(TensorFree{storages_[storage].id});
    ++at_;
    return true;
  }

  std::uint32_t stream(const Work& work) const {
    const std::uint64_t number = trace_.nodes[work.node].stream;
    if (number > kMaxStream) throw_input_error("{}: stream {}; allowed: 0 to {}", path_, number, kMaxStream);
    return static_cast<std::uint32_t>(number);
  }

  static const Touch* touch_of(const Work& work, bool written) {
    for (const Touch& touch : work.touches) {
      if ((touch.mode != AccessMode::kRead) == written) return &touch;
    }
    return nullptr;
  }

  void copy(const Work& work) {
    Memcpy out;
    out.kind = work.copy;
    const Touch* to = work.copy == CopyKind::kDeviceToHost ? nullptr : touch_of(work, true);
    const Touch* from = work.copy == CopyKind::kHostToDevice ? nullptr : touch_of(work, false);
    if (to == nullptr && from == nullptr) {
      ++summary.left_out;
      return;
    }
    out.bytes = std::min(to != nullptr ? to->bytes : UINT64_MAX, from != nullptr ? from->bytes : UINT64_MAX);
    if (to != nullptr) out.dst = {storages_[to->storage].id, to->offset};
    if (from != nullptr) out.src = {storages_[from->storage].id, from->offset};
    out.stream = stream(work);
    out.blocking = work.copy == CopyKind::kDeviceToHost;
    ++summary.copies;
    ready.emplace_back(out);
  }

  void fill(const Work& work) {
    const Touch* to = touch_of(work, true);
    if (to == nullptr) {
      ++summary.left_out;
      return;
    }
    ++summary.fills;
    ready.emplace_back(Memset{storages_[to->storage].id, to->offset, to->bytes, stream(work), 0, false});
  }

  void kernel(const Work& work) {
    constexpr std::uint64_t kQuantum = ChakraImporter::kQuantumBytes;
    const Node& node = trace_.nodes[work.node];
    AccessSet set;
    std::uint64_t bytes = 0;
    for (const Touch& touch : work.touches) {
      set.add(storages_[touch.storage].id, touch.offset / kQuantum,
              (touch.offset + touch.bytes + kQuantum - 1) / kQuantum, touch.mode);
      bytes += touch.bytes;
    }
    Kernel out;
    out.name = node.name;
    out.stream = stream(work);
    out.device = work.device;
    out.block = {256, 1, 1};
    out.grid.x = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes / 4096, 1, kMostChakraBlocks));
    out.duration_ns = trace_.on_gpu ? node.duration_ns : static_cast<std::int64_t>(2000 + bytes / 1000);
    out.distribution = distribution_by_name(out.name);
    out.accesses = set.take();
    out.coverage = out.accesses.empty() ? Coverage::kNone : Coverage::kOperatorSchema;
    ++summary.kernels;
    if (!out.accesses.empty()) ++summary.covered_kernels;
    ready.emplace_back(std::move(out));
  }

  std::string path_;
  ExecutionTrace trace_;
  std::unordered_map<std::uint64_t, std::size_t> by_id_;        // nodes; never iterated
  std::vector<std::size_t> around_;                             // of each node
  std::vector<std::pair<std::uint64_t, std::uint64_t>> steps_;  // node id and number of each iteration
  std::unordered_map<std::uint64_t, std::size_t> now_;          // storages by PyTorch's number; never iterated
  std::vector<Storage> storages_;
  std::vector<Work> work_;
  std::vector<std::size_t> before_;
  std::vector<std::vector<std::size_t>> begins_, ends_;  // storages by work
  std::size_t at_ = 0;
  std::uint64_t iteration_ = 0;
  std::uint64_t accesses_left_ = 0;
  ObjectId last_id_ = 0;
};

}  // namespace

ChakraImporter::ChakraImporter(const std::string& path, const ChakraImportOptions& options)
    : Importer(std::make_unique<ChakraConversion>(path, options)) {}

}  // namespace uvmsim::trace
