// SPDX-License-Identifier: Apache-2.0
#include "sim/why/why.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "sim/common/random.h"
#include "sim/common/units.h"
#include "sim/formats/sqlite_reader.h"
#include "sim/report/kernel_label.h"

namespace uvmsim::why {
namespace {

constexpr std::int64_t kMostNs = std::numeric_limits<std::int64_t>::max() / 4;

// The page counts in a row of operations or allocation_uses.
struct Pages {
  std::uint64_t in_bytes = 0, back = 0, populated = 0;
};

const std::vector<std::string> kTraffic = {"reloaded_pages",      "populated_pages", "htod_fault_bytes",
                                           "htod_prefetch_bytes", "htod_user_bytes", "htod_counter_bytes"};

std::uint64_t number_at(const SqliteReader::Row& row, std::size_t column) {
  return static_cast<std::uint64_t>(row.integer(column, 0, kMostNs, 0));
}

// Reads kTraffic, from column `first` on.
Pages pages_at(const SqliteReader::Row& row, std::size_t first) {
  Pages pages{0, number_at(row, first), number_at(row, first + 1)};
  for (std::size_t i = 2; i < kTraffic.size(); ++i) pages.in_bytes += number_at(row, first + i);
  return pages;
}

std::vector<std::string> with_traffic(std::vector<std::string> columns) {
  columns.insert(columns.end(), kTraffic.begin(), kTraffic.end());
  return columns;
}

void add(Waiting& waiting, std::int64_t stall_ns, const Pages& pages) {
  waiting.stall_ns += stall_ns;
  waiting.in_bytes += pages.in_bytes;
  waiting.back_bytes += pages.back * kBasePageBytes;
  waiting.populated_bytes += pages.populated * kBasePageBytes;
  const std::uint64_t in = std::max(pages.in_bytes / kBasePageBytes, pages.back);
  const std::array<std::uint64_t, 3> parts = {pages.back, in - pages.back, pages.populated};
  const std::uint64_t all = parts[0] + parts[1] + parts[2];
  std::int64_t rest = stall_ns;
  for (std::size_t i = 0; all != 0 && stall_ns > 0 && i < parts.size(); ++i) {
    const auto part =
        static_cast<std::int64_t>(static_cast<WideUnsigned>(stall_ns) * parts[i] / static_cast<WideUnsigned>(all));
    waiting.by_cause_ns[i] += part;
    rest -= part;
  }
  waiting.by_cause_ns[static_cast<std::size_t>(Cause::kOther)] += rest;
}

void divide(Waiting& waiting, std::uint64_t by) {
  const auto signed_by = static_cast<std::int64_t>(by);
  waiting.stall_ns /= signed_by;
  for (std::int64_t& ns : waiting.by_cause_ns) ns /= signed_by;
  for (std::uint64_t* bytes : {&waiting.in_bytes, &waiting.back_bytes, &waiting.populated_bytes}) *bytes /= by;
}

class Reader {
 public:
  Reader(const std::string& path, std::optional<std::uint64_t> iteration) : database_(path) {
    if (!iteration) return;
    answer_.iterations = 1;
    first_ = last_ = *iteration;
  }
  Reader(const std::string& path, report::RunRecord run) : database_(path) {
    answer_.run = std::move(run);
    const auto settled = report::settled_iterations(answer_.run.result);
    if (settled) {
      answer_.iterations = settled->count;
      first_ = settled->first_index;
      last_ = settled->last_index;
    }
  }

  Answer read() {
    read_kernels();
    read_memory();
    const std::uint64_t by = std::max<std::uint64_t>(answer_.iterations, 1);
    divide(answer_.all, by);
    for (std::vector<Waiting>* rows : {&answer_.kernels, &answer_.memory}) {
      for (Waiting& row : *rows) divide(row, by);
      std::ranges::stable_sort(*rows, std::ranges::greater{}, &Waiting::stall_ns);
    }
    for (Waiting& row : answer_.kernels) row.count = (row.count + by / 2) / by;
    return std::move(answer_);
  }

 private:
  bool is_quoted(const SqliteReader::Row& row, std::size_t column) const {
    if (answer_.iterations == 0) return true;
    if (!row.has(column)) return false;
    const std::uint64_t iteration = number_at(row, column);
    return first_ <= iteration && iteration <= last_;
  }

  void read_kernels() {
    std::map<std::uint64_t, std::string> names;
    database_.each("names", {"name_id", "name"}, 2,
                   [&](const SqliteReader::Row& row) { names[number_at(row, 0)] = row.text(1); });
    std::map<std::string, Waiting> kernels;
    const std::vector<std::string> columns = with_traffic({"kind", "name_id", "iteration", "stall_ns"});
    database_.each("operations", columns, columns.size(), [&](const SqliteReader::Row& row) {
      if (row.text(0) != "kernel" || !is_quoted(row, 2)) return;
      const std::string label = report::kernel_label(names[number_at(row, 1)]);
      Waiting& kernel = kernels.try_emplace(label, Waiting{.name = label}).first->second;
      ++kernel.count;
      const std::int64_t stall = row.integer(3, -kMostNs, kMostNs, 0);
      add(kernel, stall, pages_at(row, 4));
      add(answer_.all, stall, pages_at(row, 4));
    });
    for (auto& [label, kernel] : kernels) answer_.kernels.push_back(std::move(kernel));
  }

  // Tensors of the same name are merged, because a framework creates them anew in every step.
  void read_memory() {
    struct Place {
      std::string name;
      std::uint64_t bytes = 0;
    };
    std::map<std::uint64_t, Place> places;
    database_.each("allocations", {"allocation", "id", "kind", "name", "bytes", "lifetime"}, 6,
                   [&](const SqliteReader::Row& row) {
                     std::string name = row.text(3);
                     if (name.empty()) {
                       const std::string lifetime = row.text(5);
                       name = lifetime == "iteration"  ? "made in each iteration, without a name"
                              : number_at(row, 0) == 0 ? "of no allocation"
                                                       : fmt::format("{} {}", row.text(2), number_at(row, 1));
                     }
                     places[number_at(row, 0)] = {std::move(name), number_at(row, 4)};
                   });
    std::map<std::string, Waiting> memory;
    std::set<std::uint64_t> counted;
    const std::vector<std::string> columns = with_traffic({"allocation", "iteration", "stall_ns"});
    database_.each("allocation_uses", columns, columns.size(), [&](const SqliteReader::Row& row) {
      if (!is_quoted(row, 1)) return;
      const std::uint64_t number = number_at(row, 0);
      const Place& place = places[number];
      Waiting& waiting = memory.try_emplace(place.name, Waiting{.name = place.name}).first->second;
      if (counted.insert(number).second) {
        waiting.count += place.bytes;
        ++waiting.allocations;
      }
      add(waiting, row.integer(2, -kMostNs, kMostNs, 0), pages_at(row, 3));
    });
    for (auto& [name, waiting] : memory) answer_.memory.push_back(std::move(waiting));
  }

  SqliteReader database_;
  Answer answer_;
  std::uint64_t first_ = 0, last_ = 0;
};

}  // namespace

const char* cause_text(Cause cause) {
  switch (cause) {
    case Cause::kCameBack:
      return "came back after an eviction";
    case Cause::kFirstLoad:
      return "came from the host for the first time";
    case Cause::kFirstTouch:
      return "new memory, zero-filled";
    case Cause::kOther:
      break;
  }
  return "other";
}

Cause Waiting::main_cause() const {
  const auto most = std::ranges::max_element(by_cause_ns);
  return kCauses[static_cast<std::size_t>(most - by_cause_ns.begin())];
}

Answer read_waits(const std::string& profile, report::RunRecord run) { return Reader(profile, std::move(run)).read(); }

Answer read_waits(const std::string& profile, std::optional<std::uint64_t> iteration) {
  return Reader(profile, iteration).read();
}

}  // namespace uvmsim::why
