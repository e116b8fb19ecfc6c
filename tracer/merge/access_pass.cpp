// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/access_pass.h"

namespace uvmtrace {

namespace {

using Kind = OperatorEvent::Kind;

// Updates the operators that are running on each thread.
void follow(const Event& event, std::size_t position, std::map<std::uint32_t, std::vector<std::size_t>>& running) {
  if (const auto* change = std::get_if<OperatorEvent>(&event.what)) {
    auto& stack = running[event.tid];
    if (change->kind == Kind::kBegin) {
      stack.push_back(position);
    } else if (change->kind == Kind::kEnd && !stack.empty()) {
      stack.pop_back();
    }
  }
}

}  // namespace

OpenOperators::OpenOperators(const PassLog& log) : log_(log) {
  std::map<std::uint32_t, std::vector<std::size_t>> running;
  for (std::size_t i = 0; i < log.events.size(); ++i) {
    const Event& event = log.events[i];
    const auto* change = std::get_if<OperatorEvent>(&event.what);
    if (change != nullptr && change->kind == Kind::kOutputs && !running[event.tid].empty()) {
      outputs_of_[running[event.tid].back()] = i;
    }
    follow(event, i, running);
  }
}

void OpenOperators::apply(std::size_t position) { follow(log_.events[position], position, running_); }

std::vector<Slot> OpenOperators::operands(std::uint32_t tid, const World& world) const {
  const auto found = running_.find(tid);
  if (found == running_.end()) return {};
  for (auto position = found->second.rbegin(); position != found->second.rend(); ++position) {
    std::vector<AddressRange> ranges = std::get<OperatorEvent>(log_.events[*position].what).tensors;
    if (const auto outputs = outputs_of_.find(*position); outputs != outputs_of_.end()) {
      const auto& made = std::get<OperatorEvent>(log_.events[outputs->second].what).tensors;
      ranges.insert(ranges.end(), made.begin(), made.end());
    }
    std::vector<Slot> slots = resolve_ranges(ranges, world);
    if (!slots.empty()) return slots;
  }
  return {};
}

AccessPass::AccessPass(const PassLog& log, const LaunchMatch& match,
                       const std::function<bool(const std::string&)>& blind)
    : world(log), made(log.events.size(), kNothing), launches(log.launches.size()) {
  std::vector<bool> wanted(log.launches.size(), false);
  for (const std::size_t launch : match.access_of) {
    if (launch != kUnmatched) wanted[launch] = true;
  }
  OpenOperators operators(log);
  for (std::size_t i = 0; i < log.events.size(); ++i) {
    const Event& event = log.events[i];
    if (i == match.cut.access) kept = world.live_things();
    made[i] = world.apply(i).made;
    operators.apply(i);
    if (const auto* at = std::get_if<LaunchEvent>(&event.what); at != nullptr && wanted[at->launch]) {
      const Launch& launch = log.launches[at->launch];
      launches[at->launch] = resolve(launch, world);
      if (!launch.patched || blind(log.names[launch.name])) {
        launches[at->launch].operands = operators.operands(event.tid, world);
      }
    }
  }
  kept.resize(world.things().size(), true);
}

}  // namespace uvmtrace
