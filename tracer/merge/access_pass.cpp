#include "tracer/merge/access_pass.h"

namespace uvmtrace {

void OpenOperators::apply(const Event& event, const World& world) {
  const auto* change = std::get_if<OperatorEvent>(&event.what);
  if (change == nullptr) {
    return;
  }
  auto& stack = stacks_[event.tid];
  if (change->begin) {
    stack.push_back(resolve_ranges(change->tensors, world));
  } else if (!stack.empty()) {
    stack.pop_back();
  }
}

const std::vector<Slot>* OpenOperators::operands(std::uint32_t tid) const {
  const auto found = stacks_.find(tid);
  if (found == stacks_.end() || found->second.empty() || found->second.back().empty()) {
    return nullptr;
  }
  return &found->second.back();
}

AccessPass::AccessPass(const PassLog& log, const LaunchMatch& match)
    : world(log), made(log.events.size(), kNothing), launches(log.launches.size()) {
  std::vector<bool> wanted(log.launches.size(), false);
  for (const std::size_t launch : match.access_of) {
    if (launch != kUnmatched) {
      wanted[launch] = true;
    }
  }
  OpenOperators operators;
  for (std::size_t i = 0; i < log.events.size(); ++i) {
    const Event& event = log.events[i];
    made[i] = world.apply(i).made;
    operators.apply(event, world);
    if (const auto* at = std::get_if<LaunchEvent>(&event.what); at != nullptr && wanted[at->launch]) {
      launches[at->launch] = resolve(log.launches[at->launch], world);
      if (const auto* operands = operators.operands(event.tid)) {
        launches[at->launch].operands = *operands;
      }
    }
  }
}

}  // namespace uvmtrace
