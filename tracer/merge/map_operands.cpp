// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/map_operands.h"

#include <algorithm>
#include <set>

namespace uvmtrace {

namespace {

// If one map has more runs than this, runs are joined.
constexpr std::uint64_t kMostRuns = 65536;

using CopyKind = TensorCopy::Kind;

unsigned mode_of(CopyKind kind) { return kind == CopyKind::kLoad ? 1 : kind == CopyKind::kStore ? 2 : 3; }

// How the copies use one map.
struct MapUse {
  unsigned mode = 0;
  std::uint64_t copies = 0;  // number of copy instructions in the code
  bool all_known = true;     // the number of copies is exact, because none is in a loop
};

class OperandsOfMaps {
 public:
  OperandsOfMaps(const Launch& launch, const std::vector<CopyCode>& copies)
      : launch_(launch), uses_(launch.maps.size()) {
    out_.complete = true;
    for (const CopyCode& code : copies) {
      if (code.copy.sure || code.copy.offsets.size() == 1) {
        (code.copy.kind == CopyKind::kLoad ? loaded_ : stored_)
            .insert(code.copy.offsets.begin(), code.copy.offsets.end());
      }
    }
    for (const CopyCode& code : copies) add(code);
  }

  MapOperands run() {
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      MapUse& use = uses_[i];
      if (use.mode == 0 && open_ != 0) use = {open_, 0, false};
      if (use.mode != 0) {
        emit(launch_.maps[i].map, use, use.copies == 0 || reads_what_is_stored(i) ? out_.undirected : out_.ranges);
      }
    }
    return std::move(out_);
  }

 private:
  void add(const CopyCode& code) {
    const std::vector<std::uint32_t> offsets = likely(code.copy);
    bool found = false;
    for (const std::uint32_t offset : offsets) {
      const auto place = std::find_if(launch_.maps.begin(), launch_.maps.end(),
                                      [&](const MapParameter& map) { return map.offset == offset; });
      if (place == launch_.maps.end()) continue;
      found = true;
      MapUse& use = uses_[static_cast<std::size_t>(place - launch_.maps.begin())];
      use.mode |= mode_of(code.copy.kind);
      use.copies += code.count;
      use.all_known = use.all_known && code.copy.sure && !code.copy.repeated;
    }
    if (offsets.empty()) open_ |= mode_of(code.copy.kind);
    if (!found) out_.complete = false;
  }

  std::vector<std::uint32_t> likely(const TensorCopy& copy) const {
    if (copy.sure || copy.offsets.size() < 2) return copy.offsets;
    const auto& others = copy.kind == CopyKind::kLoad ? stored_ : loaded_;
    std::vector<std::uint32_t> out;
    std::copy_if(copy.offsets.begin(), copy.offsets.end(), std::back_inserter(out),
                 [&](std::uint32_t offset) { return !others.contains(offset); });
    return out.empty() ? copy.offsets : out;
  }

  // Returns whether the launch may read the old content of its output, as C in D = A B + C: the code can load it, and a
  // launch without C gives the output in its place.
  bool reads_what_is_stored(std::size_t map) const {
    if (uses_[map].mode != mode_of(CopyKind::kLoad)) return false;
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (i != map && (uses_[i].mode & mode_of(CopyKind::kStore)) != 0 &&
          launch_.maps[i].map == launch_.maps[map].map) {
        return true;
      }
    }
    return false;
  }

  void emit(const TensorMap& map, const MapUse& use, std::vector<AddressRange>& ranges) const {
    const auto mode = static_cast<trace::AccessMode>(use.mode);
    std::vector<TensorMap> parts{map};
    const std::uint64_t boxes = box_count(map);
    const std::uint64_t threads =
        launch_.grid.count() * launch_.block.count();  // both are within CUDA's limits: below 2^63
    if (use.all_known && use.copies != 0 && boxes / use.copies > threads) {
      parts = first_boxes(map, threads * use.copies);
    }
    for (const TensorMap& part : parts) {
      for (const ByteRun& run : runs_of(part, kQuantumBytes, kMostRuns).runs) {
        ranges.push_back({run.va, run.bytes, mode});
      }
    }
  }

  const Launch& launch_;
  std::vector<MapUse> uses_;                 // by map of the launch
  std::set<std::uint32_t> loaded_, stored_;  // offsets that copies are known to take
  unsigned open_ = 0;                        // modes of copies whose map is not found in the code
  MapOperands out_;
};

}  // namespace

MapOperands operands_of_maps(const Launch& launch, const std::vector<CopyCode>* copies) {
  if (copies != nullptr) return OperandsOfMaps(launch, *copies).run();
  MapOperands out;
  for (const MapParameter& parameter : launch.maps) {
    for (const ByteRun& run : runs_of(parameter.map, kQuantumBytes, kMostRuns).runs) {
      out.undirected.push_back({run.va, run.bytes, trace::AccessMode::kReadWrite});
    }
  }
  return out;
}

}  // namespace uvmtrace
