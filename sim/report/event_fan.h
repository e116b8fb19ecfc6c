// SPDX-License-Identifier: Apache-2.0
// Passes every event on to several sinks.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/events/event_sink.h"

namespace uvmsim::report {

class EventFan final : public EventSink {
 public:
  // The sinks must outlive the object.
  explicit EventFan(std::vector<EventSink*> sinks) : sinks_(std::move(sinks)) {}

  bool wants_accounts() const override { return std::ranges::any_of(sinks_, &EventSink::wants_accounts); }
  void on(const KernelEvent& event) override { pass(event); }
  void on(const FaultBatchEvent& event) override { pass(event); }
  void on(const TransferEvent& event) override { pass(event); }
  void on(const StorageEvent& event) override { pass(event); }
  void on(const EvictionEvent& event) override { pass(event); }
  void on(const CpuFaultEvent& event) override { pass(event); }
  void on(const RemoteMapEvent& event) override { pass(event); }
  void on(const ThrashingEvent& event) override { pass(event); }
  void on(const ResidencyEvent& event) override { pass(event); }
  void on(const RangeEvent& event) override { pass(event); }
  void on(const TurnEvent& event) override { pass(event); }
  void on(const AllocationEvent& event) override { pass(event); }
  void on(const FreeEvent& event) override { pass(event); }
  void on(const HostRangeEvent& event) override { pass(event); }
  void on(const IterationEvent& event) override { pass(event); }
  void on(const WorkStartEvent& event) override { pass(event); }
  void on(const WorkEndEvent& event) override { pass(event); }
  void on(const ActorEvent& event) override { pass(event); }
  void on(const FaultedPagesEvent& event) override { pass(event); }
  void on(const ResidentPagesEvent& event) override { pass(event); }

 private:
  template <class Event>
  void pass(const Event& event) {
    for (EventSink* sink : sinks_) sink->on(event);
  }

  std::vector<EventSink*> sinks_;
};

}  // namespace uvmsim::report
