// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/log_reader.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/common/error.h"
#include "sim/formats/json_fields.h"
#include "sim/trace/input.h"
#include "sim/trace/line_reader.h"
#include "sim/trace/names.h"
#include "tracer/merge/child_graphs.h"
#include "tracer/merge/event_parser.h"
#include "tracer/merge/pools.h"
#include "tracer/merge/unseen_waits.h"

namespace uvmtrace {

namespace {

using uvmsim::InputError;
using uvmsim::throw_input_error;

// Names of ranges and programs may contain any bytes; the rest of a log is ASCII.
std::string as_utf8(std::string_view line) {
  std::string out(line);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return out;
}

nlohmann::ordered_json parse_line(std::string_view line) {
  return trace::is_utf8(line) ? uvmsim::parse_json_line(line) : uvmsim::parse_json_line(as_utf8(line));
}

PassLog read(trace::Input input, std::string name, std::optional<Pass> expected) {
  PassLog log;
  log.path = std::move(name);
  EventParser parser(log);
  std::uint64_t number = 0;
  try {
    trace::LineReader lines(input);
    std::string_view line;
    while (true) {
      number = lines.line_number() + 1;
      if (!lines.next(line)) break;
      nlohmann::ordered_json value;
      try {
        value = parse_line(line);
      } catch (const InputError&) {
        if (lines.ended_by_newline()) throw;
        log.cut_line = true;
        break;
      }
      ++log.lines;
      if (number == 1) {
        parser.header(value, expected);
      } else {
        parser.line(value, number);
      }
    }
  } catch (const InputError& error) {
    throw_input_error("{}: line {}: {}", log.path, number, error.what());
  }
  if (log.lines == 0) {
    throw_input_error("{}: no header in it; the program ended before anything was recorded", log.path);
  }
  // Threads write their events when a call ends, so the order of lines may differ from the order in which the calls
  // began.
  std::stable_sort(log.events.begin(), log.events.end(), [](const Event& a, const Event& b) { return a.seq < b.seq; });
  std::stable_sort(log.memory_taken.begin(), log.memory_taken.end(),
                   [](const MemoryTaken& a, const MemoryTaken& b) { return a.seq < b.seq; });
  std::stable_sort(log.uvm.begin(), log.uvm.end(),
                   [](const UvmEvent& a, const UvmEvent& b) { return a.start_ns < b.start_ns; });
  join_child_graphs(log);
  pools_to_tensors(log);
  log.unseen_waits = add_unseen_waits(log);
  return log;
}

}  // namespace

PassLog read_log(const std::string& path, std::optional<Pass> expected) {
  return read(trace::Input::from_file(path), path, expected);
}

PassLog read_log(std::string_view text, std::string name, std::optional<Pass> expected) {
  return read(trace::Input::from_memory(text), std::move(name), expected);
}

}  // namespace uvmtrace
