// SPDX-License-Identifier: Apache-2.0
#include "sim/report/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "sim/common/error.h"
#include "sim/common/sha256.h"
#include "sim/engine/settled.h"
#include "sim/report/numbers.h"

namespace uvmsim::report {

InputFile describe_input(const std::string& path) {
  InputFile file;
  file.name = std::filesystem::path(path).filename().string();
  file.sha256 = sha256_of_file(path);
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  file.bytes = error ? 0 : bytes;  // a pipe has no size
  return file;
}

namespace {

QuotedIterations quoted(const RunResult& result, const std::optional<engine::Settled>& settled) {
  const std::size_t all = result.iterations.size();
  if (settled) {
    const std::size_t end = result.repeated > 1 ? std::min(all, result.first_repeated + result.repeated) : all;
    return {settled->first, (end - settled->first) / settled->period * settled->period};
  }
  if (result.repeated == 0) return {all - std::min<std::size_t>(all, 1), std::min<std::size_t>(all, 1)};
  const std::size_t later = (result.repeated + 1) / 2;
  return {result.first_repeated + result.repeated - later, later};
}

}  // namespace

QuotedIterations quoted_iterations(const RunResult& result) { return quoted(result, engine::find_settled(result)); }

std::optional<SettledIterations> settled_iterations(const RunResult& result) {
  if (result.iterations.empty()) return std::nullopt;
  const auto settled = engine::find_settled(result);
  const QuotedIterations range = quoted(result, settled);
  const auto iterations = std::span(result.iterations).subspan(range.first, range.count);
  SettledIterations out;
  out.is_settled = settled.has_value();
  out.learning = settled ? settled->first : result.iterations.size();
  out.period = settled ? settled->period : 0;
  out.exact = settled && settled->exact;
  out.count = iterations.size();
  out.first_index = iterations.front().index;
  out.last_index = iterations.back().index;
  out.shortest = out.longest = iterations.front().end - iterations.front().begin;
  const auto mean = [&](std::uint64_t sum) { return (sum + out.count / 2) / out.count; };
  std::uint64_t total_ns = 0, ideal_ns = 0;
  for (const IterationResult& iteration : iterations) {
    const Nanoseconds duration = iteration.end - iteration.begin;
    out.shortest = std::min(out.shortest, duration);
    out.longest = std::max(out.longest, duration);
    total_ns += static_cast<std::uint64_t>(duration.value);
    ideal_ns += static_cast<std::uint64_t>(iteration.ideal.value);
    add(out.counters, iteration.counters, 1);
  }
  out.duration = Nanoseconds(static_cast<std::int64_t>(mean(total_ns)));
  out.ideal = Nanoseconds(static_cast<std::int64_t>(mean(ideal_ns)));
  for_each_counter(out.counters, [&](const char*, std::uint64_t& value) { value = mean(value); });
  return out;
}

std::string settled_text(const SettledIterations& settled, std::uint64_t iterations) {
  if (!settled.is_settled) {
    return fmt::format("not settled after {} iteration{}", iterations, iterations == 1 ? "" : "s");
  }
  return fmt::format("settled after {} of {} iterations{}{}", settled.learning, iterations,
                     settled.period == 1 ? "" : fmt::format(", period {}", settled.period),
                     settled.exact ? ", exactly" : "");
}

namespace {

std::uint64_t divided_footprint(const RunRecord& record) {
  const std::uint64_t given = record.options.footprint_bytes;
  return given != 0 ? given : record.touched_footprint_bytes.value_or(record.result.footprint_bytes);
}

}  // namespace

std::uint64_t effective_osf_thousandths(const RunRecord& record) {
  return ratio_thousandths(divided_footprint(record), record.result.capacity_bytes);
}

OsfReadings osf_readings(const RunRecord& record) {
  const std::uint64_t capacity = record.result.capacity_bytes, unmanaged = record.result.unmanaged_bytes;
  const bool beside = record.options.system.runtime.device_memory_beside;
  const std::uint64_t footprint = divided_footprint(record);
  return {ratio_thousandths(footprint, beside ? capacity + unmanaged : capacity),
          ratio_thousandths(footprint, beside ? capacity : capacity - std::min(capacity, unmanaged))};
}

bool has_hypothetical_capacity(const RunRecord& record) {
  if (record.options.system.gpus.empty()) return false;  // bounds without a run
  const config::GpuConfig& gpu = record.options.system.gpus.front();
  return record.result.capacity_bytes > gpu.memory_bytes - std::min(gpu.memory_bytes, gpu.reserved_bytes);
}

std::uint64_t times_thousandths(Nanoseconds time, Nanoseconds other) {
  if (time.value < 0 || other.value <= 0) return 0;
  return ratio_thousandths(static_cast<std::uint64_t>(time.value), static_cast<std::uint64_t>(other.value));
}

UnlimitedRun as_unlimited(const RunRecord& record) {
  const auto settled = settled_iterations(record.result);
  return {record.result.total, settled ? settled->duration : Nanoseconds{}, !settled || settled->is_settled,
          record.result.capacity_bytes, has_hypothetical_capacity(record)};
}

std::uint64_t quoted_ns(const RunResult& result) {
  const auto settled = settled_iterations(result);
  return static_cast<std::uint64_t>((settled ? settled->duration : result.total).value);
}

void widen(Uncertainty& uncertainty, const RunRecord& run) {
  const auto extend = [](std::uint64_t value, std::uint64_t& low, std::uint64_t& high) {
    low = high == 0 ? value : std::min(low, value);
    high = std::max(high, value);
  };
  extend(quoted_ns(run.result), uncertainty.low_ns, uncertainty.high_ns);
  if (!run.unlimited) return;
  extend(slowdown_thousandths(run), uncertainty.low_slowdown_thousandths, uncertainty.high_slowdown_thousandths);
}

void require_touches(const RunRecord& record) {
  if (!record.result.touches_nothing()) return;
  throw_input_error(
      "{}: no kernel of this trace touches managed memory: what they touch was not recorded (coverage none), so that "
      "its times say nothing about memory; allowed: a trace with accesses",
      record.trace.name);
}

std::uint64_t slowdown_ideal_thousandths(const RunRecord& record) {
  if (record.result.touches_nothing()) return 0;
  const auto settled = settled_iterations(record.result);
  if (settled) return times_thousandths(settled->duration, settled->ideal);
  return times_thousandths(record.result.total, record.result.ideal);
}

std::uint64_t slowdown_thousandths(const RunRecord& record) {
  if (!record.unlimited || record.result.touches_nothing()) return 0;
  const auto settled = settled_iterations(record.result);
  if (settled) return times_thousandths(settled->duration, record.unlimited->settled);
  return times_thousandths(record.result.total, record.unlimited->total);
}

}  // namespace uvmsim::report
