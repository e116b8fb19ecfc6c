// SPDX-License-Identifier: Apache-2.0
#include "sim/advise/objects.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>

#include "sim/formats/sqlite_reader.h"

namespace uvmsim::advise {
namespace {

constexpr std::int64_t kMostStallNs = std::numeric_limits<std::int64_t>::max() / 4;

class MemoryReader {
 public:
  explicit MemoryReader(std::uint32_t quantum_bytes) : quantum_bytes_(quantum_bytes) {}

  void add(const trace::Record& record) {
    if (const auto* range = std::get_if<trace::Range>(&record)) {
      if (range->kind == trace::RangeKind::kIterationBegin) within_ = begun_ = true;
      if (range->kind == trace::RangeKind::kIterationEnd) {
        within_ = false;
        first_ended_ = true;
      }
    } else if (const auto* object = std::get_if<trace::ObjectAlloc>(&record)) {
      if (object->kind == trace::ObjectKind::kManaged) allocate({object->id, false, {}, object->bytes});
    } else if (const auto* tensor = std::get_if<trace::TensorAlloc>(&record)) {
      memory_.has_tensors = true;
      segments_.insert(tensor->object);
      allocate({tensor->id, true, tensor->name, tensor->bytes});
    } else if (const auto* freed = std::get_if<trace::TensorFree>(&record)) {
      memory_.frees_tensors = memory_.frees_tensors || within_;
      release(freed->id);
    } else if (const auto* given_back = std::get_if<trace::ObjectFree>(&record)) {
      if (within_) release(given_back->id);
    } else if (const auto* kernel = std::get_if<trace::Kernel>(&record)) {
      for (const trace::ObjectAccess& access : kernel->accesses) touch(access);
    } else if (const auto* host = std::get_if<trace::HostAccess>(&record)) {
      const auto found = live_.find(host->object);
      if (found != live_.end() && (begun_ || found->second.kernels != 0)) found->second.host_touches = true;
    }
  }

  Memory finish() {
    for (auto& [id, object] : live_) {
      if (object.kernels != 0 && !segments_.contains(id)) memory_.objects.push_back(std::move(object));
    }
    std::ranges::sort(memory_.objects, {}, &Object::id);
    return std::move(memory_);
  }

 private:
  void allocate(Object object) {
    if (!first_ended_) live_[object.id] = std::move(object);
  }
  // Objects that are freed within an iteration get no advice.
  void release(trace::ObjectId id) {
    if (begun_ && within_) live_.erase(id);
  }
  void touch(const trace::ObjectAccess& access) {
    const auto found = live_.find(access.object);
    if (found == live_.end()) return;
    Object& object = found->second;
    ++object.kernels;
    for (const trace::Extent& extent : access.extents) {
      object.touched_bytes += extent.count * quantum_bytes_;
      if (extent.mode != trace::AccessMode::kRead) object.gpu_writes = true;
    }
  }

  std::uint64_t quantum_bytes_;
  bool begun_ = false, within_ = false, first_ended_ = false;
  std::unordered_map<trace::ObjectId, Object> live_;
  std::unordered_set<trace::ObjectId> segments_;
  Memory memory_;
};

}  // namespace

Memory read_memory(std::uint32_t quantum_bytes, const RecordSource& source) {
  MemoryReader reader(quantum_bytes);
  trace::Record record;
  while (source(record)) reader.add(record);
  return reader.finish();
}

void add_waits(Memory& memory, const std::string& profile, const report::RunRecord& run) {
  SqliteReader database(profile);
  std::map<std::uint64_t, trace::ObjectId> ids;  // by the object's number in the profile
  database.each("allocations", {"allocation", "id"}, 2, [&](const SqliteReader::Row& row) {
    ids[static_cast<std::uint64_t>(row.integer(0, 0, kMostStallNs, 0))] =
        static_cast<trace::ObjectId>(row.integer(1, 0, kMostStallNs, 0));
  });
  const auto settled = report::settled_iterations(run.result);
  std::unordered_map<trace::ObjectId, std::int64_t> stalls;
  database.each("allocation_uses", {"allocation", "iteration", "stall_ns"}, 3, [&](const SqliteReader::Row& row) {
    if (settled) {
      if (!row.has(1)) return;
      const auto iteration = static_cast<std::uint64_t>(row.integer(1, 0, kMostStallNs, 0));
      if (iteration < settled->first_index || iteration > settled->last_index) return;
    }
    stalls[ids[static_cast<std::uint64_t>(row.integer(0, 0, kMostStallNs, 0))]] +=
        row.integer(2, -kMostStallNs, kMostStallNs, 0);
  });
  for (Object& object : memory.objects) {
    const auto found = stalls.find(object.id);
    if (found != stalls.end()) object.stall_ns = found->second;
  }
  std::ranges::stable_sort(memory.objects, std::ranges::greater{}, &Object::stall_ns);
}

}  // namespace uvmsim::advise
