// SPDX-License-Identifier: Apache-2.0
#include "sim/policy/router.h"

#include <fmt/format.h>

namespace uvmsim::policy {
namespace {

// Describes what is wrong with a route through a GPU.
std::string detour_error(unsigned gpu, const Move& move, const RouteQueries& queries) {
  const std::string through = fmt::format("through GPU {}", gpu);
  if (gpu >= queries.gpu_count()) return through + ", which does not exist";
  const ProcessorId hop = gpu_processor(gpu);
  if (hop == move.from || hop == move.to) return through + ", one of its ends";
  if (queries.joined(move.from, hop) && queries.joined(hop, move.to)) return {};
  return through + ", which no links join with both";
}

std::string stripes_error(const Route& route, const Move& move, const RouteQueries& queries) {
  if (route.direct != 0 && !queries.joined(move.from, move.to)) return "in part directly, and no link joins its ends";
  bool any = route.direct != 0;
  for (unsigned gpu = 0; gpu < kMaxGpus; ++gpu) {
    if (route.through[gpu] == 0) continue;
    any = true;
    if (std::string wrong = detour_error(gpu, move, queries); !wrong.empty()) return "in part " + wrong;
  }
  return any ? std::string() : std::string("in stripes without any weight");
}

std::string place(ProcessorId processor) {
  return processor.is_host() ? std::string("the host") : fmt::format("GPU {}", processor.gpu());
}

}  // namespace

std::string route_error(const Route& route, const Move& move, const RouteQueries& queries) {
  switch (route.way) {
    case Route::Way::kDirect:
    case Route::Way::kHost:
      return {};
    case Route::Way::kGpu:
      return detour_error(route.gpu, move, queries);
    case Route::Way::kStriped:
      return stripes_error(route, move, queries);
    case Route::Way::kSpare: {
      const std::string into = fmt::format("into spare memory of GPU {}", route.gpu);
      if (route.gpu >= queries.gpu_count()) return into + ", which does not exist";
      if (!move.may_stay) return into + ", and this move may not stay anywhere";
      return queries.has_room(route.gpu) ? std::string() : into + ", which has no room for it";
    }
    case Route::Way::kLater:
      return move.may_wait ? std::string() : std::string("later, and somebody waits for it");
  }
  return fmt::format("a way of number {}, which does not exist", static_cast<unsigned>(route.way));
}

std::string describe(const Move& move) {
  return fmt::format("block {} from {} to {}", move.block.value, place(move.from), place(move.to));
}

}  // namespace uvmsim::policy
