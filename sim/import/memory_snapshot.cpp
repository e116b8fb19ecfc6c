// SPDX-License-Identifier: Apache-2.0
#include "sim/import/memory_snapshot.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "sim/common/error.h"
#include "sim/formats/printable.h"
#include "sim/import/pickle.h"
#include "sim/import/plain_values.h"
#include "sim/import/whole_file.h"
#include "sim/trace/limits.h"

namespace uvmsim::trace {

namespace {

using SnapshotId = PlainValues::Id;
using SnapshotKind = PlainValues::Kind;

// A small file can name one value many times and so make many rows. Real rows take some hundred bytes each.
constexpr std::size_t kMostKeys = 64;  // of a row
constexpr std::int64_t kLatestEventUs = kMaxTimeNs / 1000;

class SnapshotReader {
 public:
  explicit SnapshotReader(const std::string& path) : path_(path) {}

  MemorySnapshot read() {
    const std::string content = read_recording(path_, "memory snapshot of PyTorch", "memory snapshot");
    rows_left_ = content.size();
    SnapshotId whole = PlainValues::kNone;
    try {
      whole = starts_pickle(content) ? read_pickle(content, values_) : read_json_values(content, values_);
    } catch (const InputError& error) {
      throw_input_error("{}: no memory snapshot of PyTorch: {}", path_, error.what());
    }
    where_ = "the whole";
    if (values_.kind(whole) != SnapshotKind::kDictionary) refuse("it is no dictionary");
    const SnapshotId segments = values_.find(whole, "segments"), traces = values_.find(whole, "device_traces");
    if (segments == PlainValues::kNone && traces == PlainValues::kNone) {
      refuse("it has neither 'segments' nor 'device_traces'");
    }
    for (const SnapshotId one : list(segments, "segments")) segment(one);
    const std::vector<SnapshotId>& devices = list(traces, "device_traces");
    if (devices.size() > static_cast<std::size_t>(kMaxDevice) + 1) refuse("{} devices", devices.size());
    for (std::size_t device = 0; device < devices.size(); ++device) {
      std::size_t number = 0;
      for (const SnapshotId one : list(devices[device], "device_traces")) {
        where_ = fmt::format("event {} of device {}", ++number, device);
        event(one, static_cast<std::int32_t>(device));
        snapshot_.history = true;
      }
    }
    std::ranges::stable_sort(snapshot_.events, {}, &MemorySnapshot::Event::time_us);
    return std::move(snapshot_);
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    throw_input_error("{}: no memory snapshot of PyTorch: {}: {}", path_, where_,
                      fmt::format(format, std::forward<Args>(args)...));
  }

  const std::vector<SnapshotId>& list(SnapshotId id, const char* key) const {
    static const std::vector<SnapshotId> kEmpty;
    if (id == PlainValues::kNone) return kEmpty;
    if (values_.kind(id) != SnapshotKind::kList) refuse("'{}' is no list", key);
    return values_.items_of(id);
  }
  void row(SnapshotId id) {
    if (values_.kind(id) != SnapshotKind::kDictionary) refuse("it is no dictionary");
    if (values_.items_of(id).size() > 2 * kMostKeys) refuse("more than {} keys", kMostKeys);
    if (rows_left_-- == 0) refuse("more rows than the file has bytes");
  }
  // Returns the value of a key without which a row says nothing, or `otherwise`.
  std::uint64_t number(SnapshotId id, const char* key, std::optional<std::uint64_t> otherwise,
                       std::uint64_t most) const {
    const SnapshotId value = values_.find(id, key);
    if (value == PlainValues::kNone) {
      if (!otherwise.has_value()) refuse("'{}' is missing", key);
      return *otherwise;
    }
    if (values_.kind(value) == SnapshotKind::kReal) {
      refuse("'{}' is {}; allowed: 0 to {}", key, values_.real_of(value), most);
    }
    if (values_.kind(value) != SnapshotKind::kInteger) refuse("'{}' is no number", key);
    const std::int64_t number = values_.integer_of(value);
    if (number < 0 || static_cast<std::uint64_t>(number) > most) {
      refuse("'{}' is {}; allowed: 0 to {}", key, number, most);
    }
    return static_cast<std::uint64_t>(number);
  }
  std::string_view text(SnapshotId id, const char* key) const {
    const SnapshotId value = values_.find(id, key);
    return values_.kind(value) == SnapshotKind::kText ? std::string_view(values_.text_of(value)) : std::string_view();
  }
  std::uint64_t address(SnapshotId id, const char* key) const { return number(id, key, {}, kMaxAddress - 1); }
  std::uint64_t bytes(SnapshotId id, const char* key) const {
    return number(id, key, {}, std::min<std::uint64_t>(kMaxObjectBytes, INT64_MAX));
  }

  std::uint64_t stream(SnapshotId id) const {
    const SnapshotId stream = values_.find(id, "stream");
    return values_.kind(stream) == SnapshotKind::kInteger ? static_cast<std::uint64_t>(values_.integer_of(stream)) : 0;
  }

  // Returns the innermost frame outside of PyTorch; if there is none, the innermost one.
  const std::string& frame(SnapshotId id) {
    const SnapshotId frames = values_.find(id, "frames");
    const auto [known, fresh] = frames_.try_emplace(frames);
    if (fresh) known->second = name(list(frames, "frames"));
    return known->second;
  }
  std::string name(const std::vector<SnapshotId>& frames) const {
    SnapshotId best = PlainValues::kNone;
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (values_.kind(frames[i]) != SnapshotKind::kDictionary) refuse("a frame is no dictionary");
      if (values_.items_of(frames[i]).size() > 2 * kMostKeys) refuse("a frame with more than {} keys", kMostKeys);
      if (best == PlainValues::kNone) best = frames[i];
      const std::string_view file = text(frames[i], "filename");
      if (file.find("/torch/") != std::string_view::npos || !file.ends_with(".py")) continue;
      best = frames[i];
      break;
    }
    if (best == PlainValues::kNone) return {};
    std::string_view file = text(best, "filename");
    file.remove_prefix(std::min(file.size(), file.rfind('/') + 1));
    const std::uint64_t line = number(best, "line", 0, INT64_MAX);
    return printable(fmt::format("{} ({}:{})", text(best, "name"), file, line));
  }

  void segment(SnapshotId id) {
    where_ = fmt::format("segment {}", snapshot_.segments.size() + 1);
    row(id);
    MemorySnapshot::Segment out;
    out.device = static_cast<std::int32_t>(number(id, "device", 0, kMaxDevice));
    out.address = address(id, "address");
    out.bytes = bytes(id, "total_size");
    const SnapshotId expandable = values_.find(id, "is_expandable");
    out.expandable = values_.kind(expandable) == SnapshotKind::kBool && values_.integer_of(expandable) != 0;
    // Before PyTorch 2.1 a block has no address: it follows the one before.
    std::uint64_t next = out.address;
    for (const SnapshotId block : list(values_.find(id, "blocks"), "blocks")) {
      row(block);
      const std::uint64_t size = bytes(block, "size");
      const std::uint64_t begin = number(block, "address", next, kMaxAddress - 1);
      next = begin + size;
      if (!text(block, "state").starts_with("active")) continue;
      const std::uint64_t requested = number(block, "requested_size", size, kMaxObjectBytes);
      if (requested != 0) out.blocks.push_back({begin, std::min(requested, size), stream(id), frame(block)});
    }
    snapshot_.segments.push_back(std::move(out));
  }

  void event(SnapshotId id, std::int32_t device) {
    row(id);
    const std::string_view action = text(id, "action");
    MemorySnapshot::Event out;
    if (action == "alloc") {
      out.action = MemorySnapshot::Action::kAlloc;
    } else if (action == "free_completed") {
      out.action = MemorySnapshot::Action::kFree;
    } else if (action == "segment_alloc") {
      out.action = MemorySnapshot::Action::kSegmentAlloc;
    } else if (action == "segment_free") {
      out.action = MemorySnapshot::Action::kSegmentFree;
    } else if (action == "segment_map" || action == "segment_unmap") {
      out.action = MemorySnapshot::Action::kExpandable;
    } else {
      if (action.empty()) refuse("'action' is no text");
      // A requested free is completed by a later event; events that mark snapshots say nothing about memory.
      if (action == "oom") ++snapshot_.out_of_memory;
      return;
    }
    out.device = device;
    out.address = address(id, "addr");
    out.bytes = bytes(id, "size");
    out.stream = stream(id);
    out.time_us = static_cast<std::int64_t>(number(id, "time_us", 0, kLatestEventUs));
    if (out.action == MemorySnapshot::Action::kAlloc) out.name = frame(id);
    if (out.bytes != 0) snapshot_.events.push_back(std::move(out));
  }

  std::string path_;
  PlainValues values_;
  MemorySnapshot snapshot_;
  std::string where_;
  std::size_t rows_left_ = 0;
  std::unordered_map<SnapshotId, std::string> frames_;  // names by list of frames; never iterated
};

}  // namespace

MemorySnapshot read_memory_snapshot(const std::string& path) { return SnapshotReader(path).read(); }

}  // namespace uvmsim::trace
