// SPDX-License-Identifier: Apache-2.0
#include "tracer/faults/fault_log.h"

#include <bit>
#include <cstring>
#include <utility>

namespace uvmtrace::faults {

namespace {

static_assert(std::endian::native == std::endian::little, "the log's numbers are written as they lie in memory");

// Appends one column: `member` of every row.
template <class Row, class Value>
void add_column(const std::vector<Row>& rows, Value Row::*member, std::string& out) {
  const std::size_t begin = out.size();
  out.resize(begin + rows.size() * sizeof(Value));
  char* to = out.data() + begin;
  for (const Row& row : rows) {
    std::memcpy(to, &(row.*member), sizeof(Value));
    to += sizeof(Value);
  }
}

}  // namespace

void add_section(JsonLine&& line, const DriverEvents& events, const std::vector<BlockTimes>& blocks,
                 std::uint64_t dropped, std::string& out) {
  line.number("faults", events.faults.size()).number("replays", events.replays.size());
  line.number("migrations", events.migrations.size()).number("blocks", blocks.size());
  line.number("unknown", events.unknown).number("dropped", dropped);
  out += line.finish();
  out.reserve(out.size() + events.faults.size() * kFaultRow + events.replays.size() * kReplayRow +
              events.migrations.size() * kMigrationRow + blocks.size() * kBlockRow);
  add_column(events.faults, &RawFault::gpu_ns, out);
  add_column(events.faults, &RawFault::cpu_ns, out);
  add_column(events.faults, &RawFault::address, out);
  add_column(events.faults, &RawFault::batch, out);
  add_column(events.faults, &RawFault::gpu, out);
  add_column(events.faults, &RawFault::gpc, out);
  add_column(events.faults, &RawFault::client, out);
  add_column(events.faults, &RawFault::access, out);
  add_column(events.faults, &RawFault::fault_type, out);
  add_column(events.faults, &RawFault::client_type, out);
  add_column(events.replays, &Replay::gpu_ns, out);
  add_column(events.replays, &Replay::cpu_ns, out);
  add_column(events.replays, &Replay::batch, out);
  add_column(events.replays, &Replay::gpu, out);
  add_column(events.migrations, &Migration::cpu_begin_ns, out);
  add_column(events.migrations, &Migration::cpu_end_ns, out);
  add_column(events.migrations, &Migration::gpu_begin_ns, out);
  add_column(events.migrations, &Migration::gpu_end_ns, out);
  add_column(events.migrations, &Migration::address, out);
  add_column(events.migrations, &Migration::bytes, out);
  add_column(events.migrations, &Migration::source, out);
  add_column(events.migrations, &Migration::destination, out);
  add_column(events.migrations, &Migration::cause, out);
  add_column(blocks, &BlockTimes::begin_ns, out);
  add_column(blocks, &BlockTimes::end_ns, out);
  add_column(blocks, &BlockTimes::sm, out);
}

std::string end_line(std::uint64_t dropped, const std::string& problem) {
  JsonLine line("end");
  line.number("dropped", dropped);
  if (!problem.empty()) line.text("problem", problem);
  return line.finish();
}

}  // namespace uvmtrace::faults
