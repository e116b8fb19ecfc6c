// SPDX-License-Identifier: Apache-2.0
// A second implementation of PyTorch's allocators, as simple as possible: memory is a row of cells of 64 KiB, and every
// question is answered by looking at all of them. Only for requests that are multiples of a cell.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/layout/tensor_allocator.h"

namespace uvmsim::layout {

class ReferenceAllocator {
 public:
  static constexpr std::uint64_t kCell = 64 * 1024;
  static constexpr std::uint64_t kMiB = 1024 * 1024;

  explicit ReferenceAllocator(const AllocatorSettings& settings, bool expandable)
      : settings_(settings), expandable_(expandable) {}

  // Segment and offset; nullopt: out of memory.
  struct Place {
    std::uint64_t id = 0, segment = 0, offset = 0, bytes = 0;
  };
  std::optional<Place> allocate(std::uint64_t size, std::uint32_t stream) {
    released = 0;
    const bool small = size <= kMiB;
    ++searches_[small ? 0 : 1];
    std::optional<Run> run = search(size, stream, small);
    if (!run) {
      const std::uint64_t needed = segment_bytes(size);
      if (!expandable_) collect_garbage();
      if (!room_for(needed) && !(!expandable_ && release_oversize(size, stream, small) && room_for(needed))) {
        release_all();
        if (!room_for(needed)) return std::nullopt;
      }
      run = expandable_ ? grow(size, stream, small) : open(needed, needed, stream, small);
    }
    Segment& segment = segments[run->segment];
    const std::uint64_t rest = run->bytes - size;
    const bool oversize = settings_.max_split_size_bytes != 0 && size >= settings_.max_split_size_bytes;
    const bool split = small || expandable_ ? rest != 0 : !oversize && rest > kMiB;
    const std::uint64_t bytes = split ? size : run->bytes;
    for (std::uint64_t i = 0; i < bytes / kCell; ++i) segment.cells[run->first + i] = next_id_;
    return Place{static_cast<std::uint64_t>(next_id_++), run->segment, run->first * kCell, bytes};
  }

  void free(std::uint64_t id) {
    for (Segment& segment : segments) {
      for (std::int64_t& cell : segment.cells) {
        if (cell != static_cast<std::int64_t>(id)) continue;
        cell = kFree;
        segment.freed_at = searches_[segment.small ? 0 : 1];
      }
    }
  }

  void release_all() {
    for (std::size_t s = 0; s < segments.size(); ++s) {
      Segment& segment = segments[s];
      if (segment.gone) continue;
      if (!expandable_) {
        if (is_whole(s)) release(s);
        continue;
      }
      const std::uint64_t handle = (segment.small ? 2 : 20) * kMiB / kCell;
      for (std::uint64_t h = 0; h < segment.cells.size(); h += handle) {
        const auto begin = segment.cells.begin() + static_cast<std::ptrdiff_t>(h);
        if (!std::all_of(begin, begin + static_cast<std::ptrdiff_t>(handle), [](auto c) { return c == kFree; })) {
          continue;
        }
        std::fill_n(begin, handle, kUnmapped);
        released += handle * kCell;
      }
      segment.gone = std::all_of(segment.cells.begin(), segment.cells.end(), [](auto c) { return c == kUnmapped; });
    }
  }

  std::uint64_t reserved() const {
    std::uint64_t cells = 0;
    for (const Segment& segment : segments) {
      if (!segment.gone) cells += segment.cells.size() - count(segment, kUnmapped);
    }
    return cells * kCell;
  }
  std::uint64_t in_use() const {
    std::uint64_t cells = 0;
    for (const Segment& segment : segments) {
      if (!segment.gone) cells += segment.cells.size() - count(segment, kUnmapped) - count(segment, kFree);
    }
    return cells * kCell;
  }

  std::uint64_t released = 0;  // bytes, by the last allocate() or release_all()

  static constexpr std::int64_t kFree = 0, kUnmapped = -1;
  struct Segment {
    std::uint32_t stream = 0;
    bool small = false, gone = false;
    std::uint64_t freed_at = 0;
    std::vector<std::int64_t> cells;  // kFree, kUnmapped or the id of a block
  };
  std::vector<Segment> segments;

 private:
  struct Run {  // cells of one state
    std::uint64_t segment = 0, first = 0, bytes = 0;
    std::int64_t state = 0;
  };

  static std::uint64_t count(const Segment& segment, std::int64_t state) {
    return static_cast<std::uint64_t>(std::count(segment.cells.begin(), segment.cells.end(), state));
  }
  static std::uint64_t segment_bytes(std::uint64_t size) {
    if (size <= kMiB) return 2 * kMiB;
    if (size < 10 * kMiB) return 20 * kMiB;
    return (size + 2 * kMiB - 1) / (2 * kMiB) * (2 * kMiB);
  }
  bool room_for(std::uint64_t bytes) const {
    return settings_.memory_limit_bytes == 0 || reserved() + bytes <= settings_.memory_limit_bytes;
  }
  bool is_whole(std::size_t s) const { return count(segments[s], kFree) == segments[s].cells.size(); }
  void release(std::size_t s) {
    segments[s].gone = true;
    released += segments[s].cells.size() * kCell;
  }

  std::vector<Run> runs(std::uint32_t stream, bool small) const {
    std::vector<Run> out;
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const Segment& segment = segments[s];
      if (segment.gone || segment.stream != stream || segment.small != small) continue;
      for (std::uint64_t i = 0; i < segment.cells.size(); ++i) {
        const bool begins = i == 0 || segment.cells[i] != segment.cells[i - 1];
        if (begins) out.push_back({s, i, 0, segment.cells[i]});
        out.back().bytes += kCell;
      }
    }
    return out;
  }

  std::optional<Run> search(std::uint64_t size, std::uint32_t stream, bool small) const {
    const std::vector<Run> all = runs(stream, small);
    std::vector<std::size_t> fitting;  // in the order of the pool: by size, then address
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].state == kFree && all[i].bytes >= size) fitting.push_back(i);
    }
    std::stable_sort(fitting.begin(), fitting.end(), [&](auto a, auto b) { return all[a].bytes < all[b].bytes; });
    if (fitting.empty()) return std::nullopt;
    std::size_t best = 0;
    if (expandable_) {
      const auto size_of = [&](std::size_t i) {
        const bool expands =
            i + 1 < all.size() && all[i + 1].segment == all[i].segment && all[i + 1].state == kUnmapped;
        return all[i].bytes + (expands ? all[i + 1].bytes : 0);
      };
      while (best + 1 < fitting.size() && size_of(fitting[best + 1]) < size_of(fitting[best])) ++best;
    }
    const Run& run = all[fitting[best]];
    const std::uint64_t split = settings_.max_split_size_bytes;
    if (split != 0 && size < split && run.bytes >= split) return std::nullopt;
    if (split != 0 && size >= split && run.bytes >= size + settings_.max_non_split_rounding_bytes) return std::nullopt;
    return run;
  }

  Run open(std::uint64_t bytes, std::uint64_t mapped, std::uint32_t stream, bool small) {
    segments.push_back({stream, small, false, 0, std::vector<std::int64_t>(bytes / kCell, kUnmapped)});
    std::fill_n(segments.back().cells.begin(), mapped / kCell, kFree);
    return {segments.size() - 1, 0, mapped, kFree};
  }

  Run grow(std::uint64_t size, std::uint32_t stream, bool small) {
    const std::uint64_t handle = (small ? 2 : 20) * kMiB;
    while (true) {
      for (std::size_t s = 0; s < segments.size(); ++s) {
        Segment& segment = segments[s];
        if (segment.gone || segment.stream != stream || segment.small != small) continue;
        // A search starts at every address without memory, together with a free block before it.
        for (std::uint64_t i = 0; i < segment.cells.size(); ++i) {
          if (segment.cells[i] != kUnmapped || (i != 0 && segment.cells[i - 1] == kUnmapped)) continue;
          std::uint64_t first = i;
          while (first != 0 && segment.cells[first - 1] == kFree) --first;
          std::uint64_t end = first;
          while (end < segment.cells.size() && (end - first) * kCell < size && segment.cells[end] <= kFree) ++end;
          if ((end - first) * kCell < size) continue;
          for (std::uint64_t c = first; c < end; ++c) {
            if (segment.cells[c] != kUnmapped) continue;
            const std::uint64_t start = c * kCell / handle * handle / kCell;
            std::fill_n(segment.cells.begin() + static_cast<std::ptrdiff_t>(start), handle / kCell, kFree);
          }
          std::uint64_t bytes = 0;
          for (std::uint64_t c = first; c < segment.cells.size() && segment.cells[c] == kFree; ++c) bytes += kCell;
          return {s, first, bytes, kFree};
        }
      }
      open((std::max(settings_.reservation_bytes, size) + handle - 1) / handle * handle, 0, stream, small);
    }
  }

  bool release_oversize(std::uint64_t size, std::uint32_t stream, bool small) {
    if (settings_.max_split_size_bytes == 0) return false;
    const std::uint64_t needed = std::max(size, settings_.max_split_size_bytes);
    std::vector<std::size_t> oversize;
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const Segment& segment = segments[s];
      const bool fits = segment.cells.size() * kCell >= settings_.max_split_size_bytes;
      if (!segment.gone && segment.stream == stream && segment.small == small && is_whole(s) && fits) {
        oversize.push_back(s);
      }
    }
    std::stable_sort(oversize.begin(), oversize.end(),
                     [&](auto a, auto b) { return segments[a].cells.size() < segments[b].cells.size(); });
    for (const std::size_t s : oversize) {
      if (segments[s].cells.size() * kCell < needed) continue;
      release(s);
      return true;
    }
    std::uint64_t bytes = 0;
    for (auto s = oversize.rbegin(); s != oversize.rend() && bytes < needed; ++s) {
      release(*s);
      bytes += segments[*s].cells.size() * kCell;
    }
    return bytes >= needed;
  }

  void collect_garbage() {
    if (settings_.memory_limit_bytes == 0 || settings_.garbage_collection_threshold == 0) return;
    const auto threshold = static_cast<std::uint64_t>(settings_.garbage_collection_threshold *
                                                      static_cast<double>(settings_.memory_limit_bytes));
    if (reserved() <= threshold) return;
    const std::uint64_t goal = reserved() - threshold;
    std::uint64_t bytes = 0;
    while (bytes < goal) {
      std::vector<std::size_t> candidates;
      double ages = 0;
      const auto age = [&](std::size_t s) { return static_cast<double>(searches_[1] - segments[s].freed_at); };
      for (std::size_t s = 0; s < segments.size(); ++s) {
        if (segments[s].gone || segments[s].small || !is_whole(s)) continue;
        candidates.push_back(s);
        ages += age(s);
      }
      if (candidates.empty()) return;
      const double mean = ages / static_cast<double>(candidates.size());
      for (const std::size_t s : candidates) {
        if (age(s) < mean) continue;
        release(s);
        bytes += segments[s].cells.size() * kCell;
      }
    }
  }

  AllocatorSettings settings_;
  bool expandable_;
  std::int64_t next_id_ = 1;
  std::uint64_t searches_[2] = {0, 0};  // small, large
};

}  // namespace uvmsim::layout
