// SPDX-License-Identifier: Apache-2.0
#include "tracer/faults/fault_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace uvmtrace::faults {

namespace {

constexpr std::uint64_t kBurstGapNs = 96;  // three steps of the clock
constexpr std::size_t kLeastBurst = 64;
constexpr std::uint64_t kNextFaultNs = 64;
constexpr std::uint64_t kReplayLeadNs = 3000;  // SMs continue up to 1.4 us before the recorded time of a replay

using BatchKey = std::pair<std::uint16_t, std::uint32_t>;  // GPU, batch

struct Batch {
  std::uint64_t first_ns = UINT64_MAX, last_ns = 0;
  std::vector<std::uint64_t> pages;
  std::vector<std::uint32_t> sms;
};

std::uint32_t sm_of(const RawFault& fault) { return (std::uint32_t{fault.gpc} << 16) | fault.client; }

template <class Value>
std::uint64_t distinct(std::vector<Value> values) {
  std::sort(values.begin(), values.end());
  return static_cast<std::uint64_t>(std::unique(values.begin(), values.end()) - values.begin());
}

// Appends the times between faults of each burst of one GPU.
void add_spacings(std::vector<std::uint64_t> times, std::vector<std::uint64_t>& out) {
  std::sort(times.begin(), times.end());
  for (std::size_t begin = 0, end = 0; begin < times.size(); begin = end) {
    for (end = begin + 1; end < times.size() && times[end] - times[end - 1] <= kBurstGapNs; ++end) {
    }
    if (end - begin >= kLeastBurst) {
      out.push_back(1000 * (times[end - 1] - times[begin]) / static_cast<std::uint64_t>(end - begin - 1));
    }
  }
}

std::vector<std::uint64_t> put_times(const std::map<BatchKey, Batch>& batches,
                                     const std::map<BatchKey, std::uint64_t>& replays) {
  std::vector<std::uint64_t> out;
  for (auto next = batches.begin(); next != batches.end(); ++next) {
    if (next == batches.begin()) continue;
    const auto batch = std::prev(next);
    if (batch == batches.begin()) continue;
    const auto replay = replays.find(std::prev(batch)->first);
    if (replay == replays.end() || replay->first.first != next->first.first) continue;
    const std::uint64_t last = batch->second.last_ns, after = next->second.first_ns;
    const bool fresh = batch->second.first_ns + kReplayLeadNs > replay->second && last > replay->second;
    if (!fresh || batch->second.pages.size() >= kFullBatch || after < last || after - last > kNextFaultNs) continue;
    out.push_back((last - replay->second + after - replay->second) / 2);
  }
  return out;
}

std::string range(const Quartiles& values) {
  return fmt::format("{} ({} to {})", values.median, values.low, values.high);
}

std::string thousandths(std::uint64_t value) { return fmt::format("{}.{}", value / 1000, value % 1000 / 100); }

std::string permille(std::uint64_t part, std::uint64_t whole) {
  const std::uint64_t value = whole == 0 ? 0 : (1000 * part + whole / 2) / whole;
  return fmt::format("{}.{}", value / 10, value % 10);
}

std::string json_of(const char* key, const Quartiles& values) {
  return fmt::format("\"{}\":{{\"count\":{},\"low\":{},\"median\":{},\"high\":{}}}", key, values.count, values.low,
                     values.median, values.high);
}

template <class Add>
void for_migrations(const FaultSummary& summary, const Add& add) {
  for (const bool to_gpu : {true, false}) {
    const auto& sums = to_gpu ? summary.to_gpu : summary.to_host;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums[i].count != 0) add(to_gpu, kCauseNames[i], sums[i]);
    }
  }
}

}  // namespace

Quartiles quartiles_of(std::vector<std::uint64_t> values) {
  Quartiles out;
  out.count = values.size();
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  const std::size_t last = values.size() - 1;
  out.low = values[last / 4];
  out.median = values[last / 2];
  out.high = values[last * 3 / 4];
  return out;
}

FaultSummary summarize(const DriverEvents& events) {
  FaultSummary summary;
  summary.unknown = events.unknown;
  summary.replays = events.replays.size();
  std::map<BatchKey, Batch> batches;
  std::map<std::uint16_t, std::vector<std::uint64_t>> times;
  std::set<std::pair<std::uint16_t, std::uint32_t>> sms;
  for (const RawFault& fault : events.faults) {
    if (fault.client_type == kClientHub) {
      ++summary.hub_faults;
      continue;
    }
    ++summary.raw_faults;
    summary.reads += fault.access == kAccessRead ? 1 : 0;
    summary.writes += fault.access == kAccessWrite ? 1 : 0;
    summary.atomics += fault.access == kAccessAtomic ? 1 : 0;
    Batch& batch = batches[{fault.gpu, fault.batch}];
    batch.first_ns = std::min(batch.first_ns, fault.gpu_ns);
    batch.last_ns = std::max(batch.last_ns, fault.gpu_ns);
    batch.pages.push_back(fault.address / 4096);
    batch.sms.push_back(sm_of(fault));
    times[fault.gpu].push_back(fault.gpu_ns);
    sms.insert({fault.gpu, sm_of(fault)});
  }
  summary.gpus = times.size();
  summary.sms = sms.size();
  summary.batches = batches.size();
  std::vector<std::uint64_t> raw, pages, units, spacings;
  for (const auto& [key, batch] : batches) {
    raw.push_back(batch.pages.size());
    pages.push_back(distinct(batch.pages));
    units.push_back(distinct(batch.sms));
    summary.full_batches += raw.back() >= kFullBatch ? 1 : 0;
    summary.duplicates += raw.back() - pages.back();
  }
  for (const auto& [gpu, list] : times) add_spacings(list, spacings);
  std::map<BatchKey, std::uint64_t> replays;
  for (const Replay& replay : events.replays) {
    std::uint64_t& last = replays[{replay.gpu, replay.batch}];
    last = std::max(last, replay.gpu_ns);
  }
  summary.raw_per_batch = quartiles_of(raw);
  summary.pages_per_batch = quartiles_of(pages);
  summary.sms_per_batch = quartiles_of(units);
  summary.spacing_ps = quartiles_of(spacings);
  summary.put_ns = quartiles_of(put_times(batches, replays));
  for (const Migration& migration : events.migrations) {
    const std::size_t cause = migration.cause < kCauseNames.size() ? migration.cause : 0;
    MigrationSum& sum = migration.destination == 0 ? summary.to_host[cause] : summary.to_gpu[cause];
    ++sum.count;
    sum.bytes += migration.bytes;
  }
  return summary;
}

std::string summary_text(const FaultSummary& summary, std::uint64_t dropped) {
  std::string out = fmt::format("raw faults   {}: {} reads, {} writes, {} atomics; by {} SMs{}\n", summary.raw_faults,
                                summary.reads, summary.writes, summary.atomics, summary.sms,
                                summary.gpus > 1 ? fmt::format(" of {} GPUs", summary.gpus) : "");
  out += fmt::format("batches      {}, {} % of them with {} raw faults or more; {} replays\n", summary.batches,
                     permille(summary.full_batches, summary.batches), kFullBatch, summary.replays);
  if (summary.batches != 0) {
    out += fmt::format("per batch    {} raw faults, {} pages, {} SMs: medians (quartiles)\n",
                       range(summary.raw_per_batch), range(summary.pages_per_batch), range(summary.sms_per_batch));
    out += fmt::format("duplicates   {} % of the raw faults are of a page that their batch has already\n",
                       permille(summary.duplicates, summary.raw_faults));
  }
  if (summary.spacing_ps.count != 0) {
    out += fmt::format("spacing      {} ns per raw fault ({} to {}) in {} bursts\n",
                       thousandths(summary.spacing_ps.median), thousandths(summary.spacing_ps.low),
                       thousandths(summary.spacing_ps.high), summary.spacing_ps.count);
  }
  if (summary.put_ns.count != 0) {
    out += fmt::format("PUT          read {} ns after the replay, seen {} times\n", range(summary.put_ns),
                       summary.put_ns.count);
  }
  for_migrations(summary, [&](bool to_gpu, const char* cause, const MigrationSum& sum) {
    out += fmt::format("migrations   {} to the {} by {}: {} bytes\n", sum.count, to_gpu ? "GPU" : "host", cause,
                       sum.bytes);
  });
  if (summary.hub_faults != 0) out += fmt::format("others       {} faults of copy engines\n", summary.hub_faults);
  if (summary.unknown != 0) out += fmt::format("others       {} events of unknown types\n", summary.unknown);
  out += dropped == 0 ? "dropped      nothing\n"
                      : fmt::format("dropped      {} events: the queue was full, so counts are too low\n", dropped);
  return out;
}

std::string summary_json(const FaultSummary& summary, std::uint64_t dropped) {
  std::string out = fmt::format(
      "\"raw_faults\":{},\"reads\":{},\"writes\":{},\"atomics\":{},\"hub_faults\":{},\"sms\":{},\"batches\":{},"
      "\"full_batches\":{},\"replays\":{},\"duplicates\":{},\"unknown\":{},\"dropped\":{}",
      summary.raw_faults, summary.reads, summary.writes, summary.atomics, summary.hub_faults, summary.sms,
      summary.batches, summary.full_batches, summary.replays, summary.duplicates, summary.unknown, dropped);
  out += "," + json_of("raw_faults_per_batch", summary.raw_per_batch);
  out += "," + json_of("pages_per_batch", summary.pages_per_batch);
  out += "," + json_of("sms_per_batch", summary.sms_per_batch);
  out +=
      "," + json_of("spacing_ps", summary.spacing_ps) + "," + json_of("put_ns", summary.put_ns) + ",\"migrations\":[";
  for_migrations(summary, [&](bool to_gpu, const char* cause, const MigrationSum& sum) {
    out += fmt::format("{}{{\"to\":\"{}\",\"cause\":\"{}\",\"count\":{},\"bytes\":{}}}", out.back() == '[' ? "" : ",",
                       to_gpu ? "gpu" : "host", cause, sum.count, sum.bytes);
  });
  return out + "]";
}

std::string summary_heading() {
  return fmt::format("{:<40} {:>10} {:>8} {:>6} {:>6} {:>6} {:>6} {:>8} {:>8}\n", "name", "raw faults", "batches",
                     "raw", "pages", "SMs", "dup %", "ns/fault", "dropped");
}

std::string summary_row(const std::string& name, const FaultSummary& summary, std::uint64_t dropped) {
  return fmt::format("{:<40} {:>10} {:>8} {:>6} {:>6} {:>6} {:>6} {:>8} {:>8}\n", name, summary.raw_faults,
                     summary.batches, summary.raw_per_batch.median, summary.pages_per_batch.median,
                     summary.sms_per_batch.median, permille(summary.duplicates, summary.raw_faults),
                     summary.spacing_ps.count == 0 ? "" : thousandths(summary.spacing_ps.median), dropped);
}

}  // namespace uvmtrace::faults
