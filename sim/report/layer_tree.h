// SPDX-License-Identifier: Apache-2.0
// The ranges that a program marks (modules, functions) as a tree, with the layer and the iteration of every record of
// the trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/events/event_sink.h"
#include "sim/report/profile_account.h"

namespace uvmsim::report {

class LayerTree {
 public:
  struct Layer {
    std::uint32_t parent = 0;
    std::uint32_t depth = 0;  // 0: the root, outside of all ranges
    std::string name;
  };
  struct Place {
    std::uint64_t record = 0;  // first record of the place
    std::uint32_t layer = 0;
    std::int64_t iteration = kNoIteration;
  };

  LayerTree() : layers_(1), places_(1) {}

  // Follows marks in the order of records. A mark that closes nothing is ignored.
  void mark(const HostRangeEvent& event);
  // Returns the place of the record, which may be older than the last mark.
  const Place& at(std::uint64_t record) const;
  const Place& now() const { return places_.back(); }

  // Layers of one name in one parent are merged; parents come before their children.
  const std::vector<Layer>& layers() const { return layers_; }
  // The names from the outermost range on, joined by " / ".
  std::string path(std::uint32_t layer) const;

 private:
  std::vector<Layer> layers_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t, std::less<>> known_;
  std::vector<Place> places_;
};

}  // namespace uvmsim::report
