// SPDX-License-Identifier: Apache-2.0
#include "sim/report/layer_tree.h"

#include <algorithm>

namespace uvmsim::report {

void LayerTree::mark(const HostRangeEvent& event) {
  Place place = places_.back();
  place.record = event.record;
  switch (event.edge) {
    case RangeEdge::kPush: {
      const auto [it, fresh] =
          known_.try_emplace({place.layer, std::string(event.name)}, static_cast<std::uint32_t>(layers_.size()));
      if (fresh) layers_.push_back({place.layer, layers_[place.layer].depth + 1, std::string(event.name)});
      place.layer = it->second;
      break;
    }
    case RangeEdge::kPop:
      place.layer = layers_[place.layer].parent;
      break;
    case RangeEdge::kIterationBegin:
      place.iteration = static_cast<std::int64_t>(event.index);
      break;
    case RangeEdge::kIterationEnd:
      place.iteration = kNoIteration;
      break;
  }
  places_.push_back(place);
}

const LayerTree::Place& LayerTree::at(std::uint64_t record) const {
  const auto after = std::upper_bound(places_.begin(), places_.end(), record,
                                      [](std::uint64_t r, const Place& place) { return r < place.record; });
  return *std::prev(after);
}

std::string LayerTree::path(std::uint32_t layer) const {
  std::string path = layers_[layer].name;
  for (std::uint32_t l = layers_[layer].parent; l != 0; l = layers_[l].parent) path = layers_[l].name + " / " + path;
  return path;
}

}  // namespace uvmsim::report
