// SPDX-License-Identifier: Apache-2.0
// Parses the lines of an event log one by one into a PassLog.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "sim/formats/json_fields.h"
#include "tracer/merge/event.h"

namespace uvmtrace {

class EventParser {
 public:
  explicit EventParser(PassLog& log) : log_(log) {}

  // header() takes the first line, event() any other. Both throw uvmsim::InputError without the place.
  void header(const nlohmann::ordered_json& value, std::optional<Pass> expected);
  void line(const nlohmann::ordered_json& value, std::uint64_t number);

 private:
  using Fields = uvmsim::JsonFields;

  bool host_event(const std::string& type, Fields& fields, Event& event);
  bool gpu_event(const std::string& type, Fields& fields);
  void launch(Fields& fields, LaunchEvent& out);
  void maps(Fields& fields, Launch& out);
  void tensor_copies(Fields& fields);
  void instrumented(Fields& fields, Launch& out);
  void copy(Fields& fields, CopyEvent& out);
  void set(Fields& fields, SetEvent& out);
  void sync(Fields& fields, SyncEvent& out);
  void operator_tensors(Fields& fields, OperatorEvent& out);
  std::uint32_t name_number(const std::string& name);

  PassLog& log_;
  std::unordered_map<std::string, std::uint32_t> names_;  // only looked up
};

}  // namespace uvmtrace
