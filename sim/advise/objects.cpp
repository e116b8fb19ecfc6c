// SPDX-License-Identifier: Apache-2.0
#include "sim/advise/objects.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>

#include "sim/common/random.h"
#include "sim/formats/sqlite_reader.h"

namespace uvmsim::advise {
namespace {

constexpr std::int64_t kMostStallNs = std::numeric_limits<std::int64_t>::max() / 4;

class MemoryReader {
 public:
  explicit MemoryReader(std::uint32_t quantum_bytes) : quantum_bytes_(quantum_bytes) {}

  void add(const trace::Record& record) {
    if (const auto* range = std::get_if<trace::Range>(&record)) {
      if (range->kind == trace::RangeKind::kIterationBegin) {
        within_ = true;
        ++begun_;
      }
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
      release(given_back->id);
    } else if (const auto* kernel = std::get_if<trace::Kernel>(&record)) {
      for (const trace::ObjectAccess& access : kernel->accesses) touch(access);
    } else if (const auto* host = std::get_if<trace::HostAccess>(&record)) {
      const auto found = seen_.find(host->object);
      if (found != seen_.end() && (begun_ != 0 || found->second.object.kernels != 0)) {
        found->second.object.host_touches = true;
      }
    }
  }

  Memory finish() {
    for (auto& [id, seen] : seen_) {
      // Programs may end within their last iteration, and free all memory there.
      const bool lives_on = seen.freed_in == 0 || (seen.freed_in == begun_ && seen.allocated_in != begun_);
      if (lives_on && seen.object.kernels != 0 && !segments_.contains(id)) {
        memory_.objects.push_back(std::move(seen.object));
      }
    }
    std::ranges::sort(memory_.objects, {}, &Object::id);
    return std::move(memory_);
  }

 private:
  struct Seen {
    Object object;
    // The number of iterations begun when it was allocated, and when it was freed within one; 0: it was not.
    std::uint64_t allocated_in = 0, freed_in = 0;
  };

  void allocate(Object object) {
    if (first_ended_) return;
    const trace::ObjectId id = object.id;
    seen_[id] = {std::move(object), within_ ? begun_ : 0, 0};
  }
  void release(trace::ObjectId id) {
    const auto found = seen_.find(id);
    if (within_ && found != seen_.end()) found->second.freed_in = begun_;
  }
  void touch(const trace::ObjectAccess& access) {
    const auto found = seen_.find(access.object);
    if (found == seen_.end()) return;
    Object& object = found->second.object;
    ++object.kernels;
    for (const trace::Extent& extent : access.extents) {
      const std::uint64_t first = extent.first * quantum_bytes_, bytes = extent.count * quantum_bytes_;
      object.touched_bytes += bytes;
      if (object.is_divided()) add_by_part(object, first, std::min(object.bytes, first + bytes));
      if (extent.mode != trace::AccessMode::kRead) object.gpu_writes = true;
    }
  }

  static void add_by_part(Object& object, std::uint64_t first, std::uint64_t end) {
    const auto end_of = [&](std::uint64_t part) {
      return static_cast<std::uint64_t>(static_cast<WideUnsigned>(object.bytes) * (part + 1) / Object::kParts);
    };
    auto part = static_cast<std::uint64_t>(static_cast<WideUnsigned>(first) * Object::kParts / object.bytes);
    while (first < end && part < Object::kParts) {
      const std::uint64_t stop = std::min(end, end_of(part));
      if (stop > first) object.touched_by_part[part] += stop - first;
      first = std::max(first, stop);
      ++part;
    }
  }

  std::uint64_t quantum_bytes_;
  std::uint64_t begun_ = 0;  // iterations
  bool within_ = false, first_ended_ = false;
  std::unordered_map<trace::ObjectId, Seen> seen_;
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
