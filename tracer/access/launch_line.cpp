// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/launch_line.h"

#include "tracer/log/event_log.h"

namespace uvmtrace::access {

namespace {

void put_triple(JsonLine& line, const char* key, const std::uint32_t (&triple)[3]) {
  line.begin_list(key).item(triple[0]).item(triple[1]).item(triple[2]).end_list();
}

void put_runs(JsonLine& line, const std::vector<Run>& runs) {
  for (const Run& run : runs) line.begin_list().item(run.first).item(run.count).item(run.mode).end_list();
}

}  // namespace

JsonLine launch_line(const LaunchFacts& facts, const LaunchAccesses* accesses, const Options& options) {
  JsonLine line = EventLog::instance().host_event("launch", facts.sequence);
  line.number("corr", facts.correlation);
  if (facts.node != 0) line.number("node", facts.node);
  line.text("name", facts.name);
  put_triple(line, "grid", facts.grid);
  put_triple(line, "block", facts.block);
  line.number("shared_bytes", facts.shared_bytes).number("stream", facts.stream);
  if (facts.device != 0) line.number("device", facts.device);
  line.boolean("patched", accesses != nullptr);
  if (accesses == nullptr) return line;

  line.begin_list("accesses");
  put_runs(line, accesses->quanta);
  line.end_list();
  if (!accesses->phases.empty()) {
    line.begin_list("phases");
    for (const Phase& phase : accesses->phases) {
      line.begin_list().item(phase.first_block).item(phase.block_count).begin_list();
      put_runs(line, phase.runs);
      line.end_list().end_list();
    }
    line.end_list();
  }
  if (options.order) {
    line.begin_list("order");
    for (const std::uint64_t page : accesses->order) line.item(page);
    line.end_list();
  }
  if (options.counts) {
    line.begin_list("counts");
    for (const auto& [page, count] : accesses->counts) line.begin_list().item(page).item(count).end_list();
    line.end_list();
  }
  if (accesses->unknown != 0) {
    line.number("unknown", accesses->unknown).begin_list("unknown_at");
    for (const std::uint64_t address : accesses->unknown_at) line.item(address);
    line.end_list();
  }
  return line;
}

}  // namespace uvmtrace::access
