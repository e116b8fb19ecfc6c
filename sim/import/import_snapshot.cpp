// SPDX-License-Identifier: Apache-2.0
#include "sim/import/import_snapshot.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/common/error.h"
#include "sim/import/address_map.h"
#include "sim/import/memory_snapshot.h"
#include "sim/trace/limits.h"

namespace uvmsim::trace {

namespace {

constexpr std::uint64_t kMostAssumedBlocks = std::uint64_t{1} << 20;

class SnapshotConversion final : public Conversion<SnapshotImportSummary> {
 public:
  SnapshotConversion(const std::string& path, const SnapshotImportOptions& options)
      : path_(path), options_(options), snapshot_(read_memory_snapshot(path)) {
    header.quantum_bytes = SnapshotImporter::kQuantumBytes;
    header.tool = "uvmsim trace import snapshot, conversion 1";
    header.program = path;
    header.provenance = options.provenance;
    const bool lifetimes = options.accesses == SnapshotAccesses::kLifetimes;
    header.attributes = {
        {"accesses", lifetimes ? "assumed: written by a kernel after the allocation, read by one before the free"
                               : "none: a memory snapshot has no kernels"},
        {"durations", lifetimes ? "assumed: 2 us + 1 ns per 1000 bytes touched" : "none"},
        {"objects", "segments of PyTorch's caching allocator"}};
    summary.history = snapshot_.history;
    summary.out_of_memory = snapshot_.out_of_memory;
    find_earlier();
    for (const auto& [at, bytes] : earlier_segments_) new_segment(at.first, at.second, bytes);
    for (const auto& [at, block] : earlier_blocks_) {
      ++summary.earlier_tensors;
      new_tensor(at.first, at.second, block.bytes, stream(block.stream),
                 block.name.empty() ? "allocated before" : "before: " + block.name);
    }
  }

 private:
  using Action = MemorySnapshot::Action;
  using At = std::pair<std::int32_t, std::uint64_t>;  // device, address

  bool go_on() override {
    if (at_ == snapshot_.events.size()) return false;
    const MemorySnapshot::Event& event = snapshot_.events[at_++];
    switch (event.action) {
      case Action::kSegmentAlloc:
        new_segment(event.device, event.address, event.bytes);
        break;
      case Action::kSegmentFree:
        if (const ObjectId id = segments_[event.device].remove(event.address).id; id != kNoObject) {
          ready.emplace_back(ObjectFree{id});
        }
        break;
      case Action::kAlloc:
        new_tensor(event.device, event.address, event.bytes, stream(event.stream), event.name);
        touch(event, AccessMode::kWrite);
        break;
      case Action::kFree:
        touch(event, AccessMode::kRead);
        free(event);
        break;
      case Action::kExpandable:
        break;
    }
    return true;
  }

  // Walks the history to find memory that was allocated before it.
  void find_earlier() {
    std::map<At, bool> segments, blocks;  // segments and blocks that the history names, and whether they are live now
    for (const MemorySnapshot::Event& event : snapshot_.events) {
      const At at{event.device, event.address};
      if (event.action == Action::kSegmentAlloc || event.action == Action::kSegmentFree) {
        const bool made = event.action == Action::kSegmentAlloc;
        if (!made && !segments.contains(at)) earlier_segments_.emplace(at, event.bytes);
        segments[at] = made;
      } else if (event.action == Action::kAlloc || event.action == Action::kFree) {
        const bool made = event.action == Action::kAlloc;
        if (!made && !blocks.contains(at)) {
          earlier_blocks_.emplace(at, MemorySnapshot::Block{event.address, event.bytes, event.stream, ""});
        }
        blocks[at] = made;
      }
    }
    for (const MemorySnapshot::Segment& segment : snapshot_.segments) {
      if (!segment.expandable && !segments.contains({segment.device, segment.address}) && segment.bytes != 0) {
        earlier_segments_.emplace(At{segment.device, segment.address}, segment.bytes);
      }
      for (const MemorySnapshot::Block& block : segment.blocks) {
        if (!blocks.contains({segment.device, block.address})) {
          earlier_blocks_.emplace(At{segment.device, block.address}, block);
        }
      }
    }
  }

  void insert(AddressMap& map, ObjectId id, std::uint64_t address, std::uint64_t bytes) const {
    try {
      map.insert(id, address, bytes);
    } catch (const InputError& error) {
      throw_input_error("{}: {}", path_, error.what());
    }
  }

  void new_segment(std::int32_t device, std::uint64_t address, std::uint64_t bytes) {
    const ObjectId id = ++last_id_;
    insert(segments_[device], id, address, bytes);
    ++summary.segments;
    ready.emplace_back(ObjectAlloc{id, options_.kind, bytes, address, device});
  }

  void new_tensor(std::int32_t device, std::uint64_t address, std::uint64_t bytes, std::uint32_t stream,
                  const std::string& name) {
    const ObjectId id = ++last_id_;
    insert(tensors_[device], id, address, bytes);
    TensorAlloc tensor{id, bytes, stream, kNoObject, 0, name};
    const AddressMap::Entry segment = segments_[device].find(address);
    if (segment.id != kNoObject && segment.bytes - (address - segment.address) >= bytes) {
      tensor.object = segment.id;
      tensor.offset = address - segment.address;
    } else {
      ++summary.unplaced;
    }
    ++summary.tensors;
    bytes_ += bytes;
    summary.most_bytes = std::max(summary.most_bytes, bytes_);
    ready.emplace_back(std::move(tensor));
  }

  void free(const MemorySnapshot::Event& event) {
    const AddressMap::Entry tensor = tensors_[event.device].remove(event.address);
    if (tensor.id == kNoObject) return;
    bytes_ -= tensor.bytes;
    ready.emplace_back(TensorFree{tensor.id});
  }

  void touch(const MemorySnapshot::Event& event, AccessMode mode) {
    if (options_.accesses != SnapshotAccesses::kLifetimes) return;
    const AddressMap::Entry tensor = tensors_[event.device].find(event.address);
    if (tensor.id == kNoObject || tensor.address != event.address) return;
    constexpr std::uint64_t kQuantum = SnapshotImporter::kQuantumBytes;
    Kernel kernel;
    kernel.name = mode == AccessMode::kWrite ? "assumed first use" : "assumed last use";
    kernel.stream = stream(event.stream);
    kernel.device = event.device;
    kernel.block = {256, 1, 1};
    kernel.grid.x = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(tensor.bytes / 4096, 1, kMostAssumedBlocks));
    kernel.host_gap_ns = last_time_us_ < 0 ? 0 : std::max<std::int64_t>(event.time_us - last_time_us_, 0) * 1000;
    last_time_us_ = std::max(last_time_us_, event.time_us);
    kernel.duration_ns = static_cast<std::int64_t>(2000 + tensor.bytes / 1000);
    kernel.coverage = Coverage::kDeclared;
    kernel.accesses.push_back({tensor.id, {{0, (tensor.bytes + kQuantum - 1) / kQuantum, mode}}});
    ready.emplace_back(std::move(kernel));
  }

  // Streams are handles of CUDA's; they are numbered as they come.
  std::uint32_t stream(std::uint64_t handle) {
    if (handle == 0) return 0;
    const auto number = static_cast<std::uint32_t>(streams_.size() + 1);
    const auto [known, fresh] = streams_.try_emplace(handle, number);
    if (fresh && number > kMaxStream) throw_input_error("{}: more than {} streams", path_, kMaxStream);
    return known->second;
  }

  std::string path_;
  SnapshotImportOptions options_;
  MemorySnapshot snapshot_;
  std::map<At, std::uint64_t> earlier_segments_;
  std::map<At, MemorySnapshot::Block> earlier_blocks_;
  std::map<std::int32_t, AddressMap> segments_, tensors_;     // by device
  std::unordered_map<std::uint64_t, std::uint32_t> streams_;  // by handle; never iterated
  ObjectId last_id_ = 0;
  std::uint64_t bytes_ = 0;
  std::int64_t last_time_us_ = -1;
  std::size_t at_ = 0;
};

}  // namespace

SnapshotImporter::SnapshotImporter(const std::string& path, const SnapshotImportOptions& options)
    : Importer(std::make_unique<SnapshotConversion>(path, options)) {}

}  // namespace uvmsim::trace
