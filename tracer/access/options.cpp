// SPDX-License-Identifier: Apache-2.0
#include "tracer/access/options.h"

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "tracer/access/layout.h"
#include "tracer/log/event_log.h"

namespace uvmtrace::access {

namespace {

std::string_view variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

void read(const char* name, std::uint64_t most, std::uint64_t& value) {
  const std::string_view text = variable(name);
  if (text.empty()) return;
  std::uint64_t parsed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error == std::errc() && end == text.data() + text.size() && parsed <= most) {
    value = parsed;
    return;
  }
  EventLog::complain(std::string(name) + " is '" + std::string(text) + "', not a number from 0 to " +
                     std::to_string(most) + "; " + std::to_string(value) + " is used");
}

}  // namespace

Options Options::from_environment() {
  Options options;
  std::uint64_t phases = options.phases;
  std::uint64_t order = 0;
  std::uint64_t counts = 0;
  read("UVMTRACE_PHASES", kMaxPhases, phases);
  read("UVMTRACE_PHASE_BYTES", UINT64_MAX, options.phase_bytes);
  read("UVMTRACE_ORDER", 1, order);
  read("UVMTRACE_COUNTS", 1, counts);
  options.phases = static_cast<std::uint32_t>(phases);
  options.order = order != 0;
  options.counts = counts != 0;
  const std::string_view window = variable("UVMTRACE_WINDOW");
  options.window = window == "profiler";
  if (!window.empty() && window != "profiler" && window != "all") {
    EventLog::complain("UVMTRACE_WINDOW is '" + std::string(window) + "', not all or profiler; all is used");
  }
  return options;
}

}  // namespace uvmtrace::access
