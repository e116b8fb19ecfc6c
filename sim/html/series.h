// SPDX-License-Identifier: Apache-2.0
// Which points are one curve, and what tells curves apart.
//
// A panel is a program on a system. Within it points that differ in nothing but their limit and seed are a series;
// those that differ in their seed alone are one place of it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sim/html/points.h"

namespace uvmsim::html {

struct Series {
  std::string label;  // what tells it from the others of all panels: "evict lru"
  bool are_drivers_policies = false;
};

struct PlacedPoint {
  std::size_t panel = 0, series = 0;
};

struct SeriesTable {
  std::vector<std::string> panels;  // the program, and what else tells them apart; in the order of the points
  std::vector<Series> series;       // over all panels; the driver's policies first, then in the order of the points
  std::vector<PlacedPoint> places;  // of each point
  std::string shared;               // what all points have in common, for people
};

SeriesTable series_of(const std::vector<ReportPoint>& points);

}  // namespace uvmsim::html
