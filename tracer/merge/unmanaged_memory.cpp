// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/unmanaged_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/common/error.h"
#include "sim/trace/limits.h"
#include "sim/trace/names.h"

namespace uvmtrace {

namespace {

double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// Sums of a hostile log stay within what a GPU can have.
void add(std::int64_t& sum, std::int64_t bytes) {
  constexpr auto kMost = static_cast<std::int64_t>(trace::kMaxObjectBytes);
  sum += bytes;
  if (sum > kMost || sum < -kMost) {
    uvmsim::throw_input_error("device_memory: {} bytes of a GPU are taken; allowed: up to {}", sum, kMost);
  }
}

// The memory level of each GPU over time, and its maximum since the last query.
class Levels {
 public:
  void take(const MemoryTaken& taken) {
    Device& device = devices_[taken.device];
    add(device.now, taken.bytes);
    device.most = std::max(device.most, device.now);
  }
  // Writes the maximum of each GPU if it differs from the last written one, and restarts the maximum.
  void write(std::uint64_t iteration, std::vector<UnmanagedMemory::Level>& out) {
    for (auto& [number, device] : devices_) {
      const std::int64_t most = std::max<std::int64_t>(device.most, 0);
      if (most != device.written) out.push_back({iteration, number, static_cast<std::uint64_t>(most)});
      device.written = most;
      device.most = device.now;
    }
  }
  void begin() {
    for (auto& [number, device] : devices_) device.most = device.now;
  }

 private:
  struct Device {
    std::int64_t now = 0, most = 0, written = 0;
  };
  std::map<std::int32_t, Device> devices_;
};

struct Mark {
  std::uint64_t seq = 0;
  trace::RangeKind kind = trace::RangeKind::kIterationBegin;
  std::uint64_t iteration = 0;
};

std::vector<Mark> iteration_marks(const PassLog& log) {
  std::vector<Mark> out;
  for (const Event& event : log.events) {
    const auto* range = std::get_if<RangeEvent>(&event.what);
    if (range == nullptr || range->kind == trace::RangeKind::kPush || range->kind == trace::RangeKind::kPop) continue;
    out.push_back({event.seq, range->kind, range->index});
  }
  return out;
}

bool uses_managed_memory(const PassLog& log) {
  return std::any_of(log.events.begin(), log.events.end(), [](const Event& event) {
    const auto* alloc = std::get_if<AllocEvent>(&event.what);
    return alloc != nullptr && alloc->kind == MemoryKind::kManaged;
  });
}

}  // namespace

UnmanagedMemory unmanaged_memory(const PassLog& memory) {
  UnmanagedMemory out;
  if (!memory.free_memory_read) {
    out.refused = "free memory of the GPU could not be read";
    return out;
  }
  if (uses_managed_memory(memory)) {
    out.refused = "the program has managed memory, which comes to the GPU and leaves it by itself";
    return out;
  }
  const std::vector<Mark> marks = iteration_marks(memory);
  out.by_iteration = !marks.empty();
  Levels levels;
  // The current iteration. A program without marks counts as one iteration from its begin.
  std::optional<std::uint64_t> running;
  if (marks.empty()) running = 0;
  const auto end_iteration = [&] {
    if (running) levels.write(*running, out.levels);
    running.reset();
  };
  auto mark = marks.begin();
  const auto pass_marks = [&](std::uint64_t until) {
    for (; mark != marks.end() && mark->seq < until; ++mark) {
      end_iteration();
      if (mark->kind != trace::RangeKind::kIterationBegin) continue;
      levels.begin();
      running = mark->iteration;
    }
  };
  for (const MemoryTaken& taken : memory.memory_taken) {
    pass_marks(taken.seq);
    if (!running && mark == marks.end()) break;
    if (taken.allocation) continue;
    levels.take(taken);
    if (taken.call == 0) {
      add(out.between_calls, taken.bytes);
    } else {
      add(out.taken_by_call[memory.names[taken.call]], taken.bytes);
    }
  }
  pass_marks(UINT64_MAX);
  end_iteration();
  std::erase_if(out.taken_by_call, [](const auto& call) { return call.second == 0; });
  return out;
}

std::string UnmanagedMemory::text() const {
  if (!refused.empty()) return "not known: " + refused;
  std::map<std::int32_t, std::int64_t> most;
  for (const Level& level : levels) {
    std::int64_t& of_device = most[level.device];
    of_device = std::max(of_device, static_cast<std::int64_t>(level.bytes));
  }
  std::int64_t sum = 0;
  for (const auto& [device, bytes] : most) sum += bytes;
  std::string out = fmt::format("{:.1f} MiB", mebibytes(sum));
  std::vector<std::pair<std::int64_t, std::string>> calls;
  for (const auto& [call, bytes] : taken_by_call) calls.emplace_back(bytes, call);
  std::stable_sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string_view before = ": ";
  for (const auto& [bytes, call] : calls) {
    out += fmt::format("{}{} {:.1f}", std::exchange(before, ", "), trace::printable(call), mebibytes(bytes));
  }
  if (between_calls != 0) out += fmt::format("{}while no call ran {:.1f}", before, mebibytes(between_calls));
  return out;
}

void add_unmanaged_memory(const UnmanagedMemory& memory, std::vector<trace::Record>& records) {
  trace::ObjectId next_id = 1;
  for (const trace::Record& record : records) {
    if (const auto* object = std::get_if<trace::ObjectAlloc>(&record)) next_id = std::max(next_id, object->id + 1);
    if (const auto* tensor = std::get_if<trace::TensorAlloc>(&record)) next_id = std::max(next_id, tensor->id + 1);
  }
  std::map<std::int32_t, std::vector<trace::ObjectAlloc>> taken;  // by GPU, the last one at the end
  const auto set_level = [&](const UnmanagedMemory::Level& level, std::vector<trace::Record>& out) {
    auto& objects = taken[level.device];
    std::uint64_t now = 0;
    for (const trace::ObjectAlloc& object : objects) now += object.bytes;
    while (now > level.bytes) {
      now -= objects.back().bytes;
      out.emplace_back(trace::ObjectFree{objects.back().id});
      objects.pop_back();
    }
    if (now == level.bytes) return;
    objects.push_back({next_id++, trace::ObjectKind::kDevice, level.bytes - now, 0, level.device});
    out.emplace_back(objects.back());
  };

  std::vector<trace::Record> out;
  out.reserve(records.size() + memory.levels.size());
  auto level = memory.levels.begin();
  const auto set_levels_until = [&](std::uint64_t iteration) {
    for (; level != memory.levels.end() && level->iteration <= iteration; ++level) set_level(*level, out);
  };
  if (!memory.by_iteration) set_levels_until(UINT64_MAX);
  for (trace::Record& record : records) {
    const auto* range = std::get_if<trace::Range>(&record);
    const bool begins = range != nullptr && range->kind == trace::RangeKind::kIterationBegin;
    const std::uint64_t iteration = begins ? range->index : 0;
    out.push_back(std::move(record));
    if (begins) set_levels_until(iteration);
  }
  records = std::move(out);
}

}  // namespace uvmtrace
