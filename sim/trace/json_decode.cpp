#include <fmt/format.h>

#include <limits>

#include "sim/common/error.h"
#include "sim/trace/json_codec.h"
#include "sim/trace/json_value.h"
#include "sim/trace/limits.h"
#include "sim/trace/names.h"
#include "sim/trace/reuse.h"
#include "sim/trace/shape.h"

namespace uvmsim::trace {

namespace {

constexpr std::uint64_t kMaxU32 = std::numeric_limits<std::uint32_t>::max();
constexpr auto kMaxTime = static_cast<std::uint64_t>(kMaxTimeNs);

template <class Enum, std::size_t N>
Enum parse_name(const JsonValue& value, std::string_view what, const std::array<std::string_view, N>& names) {
  const std::string& word = json_text(value, what);
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == word) {
      return static_cast<Enum>(i);
    }
  }
  throw_input_error("{}: unknown '{}'{}", what, printable(word), allowed_hint(word, names));
}

template <class Enum, std::size_t N>
void read_name(JsonFields& fields, std::string_view key, const std::array<std::string_view, N>& names, Enum& out) {
  if (const JsonValue* value = fields.find(key)) {
    out = parse_name<Enum>(*value, fmt::format("{}: '{}'", fields.context(), key), names);
  }
}

AccessMode parse_mode(const JsonValue& value) {
  const std::string& word = json_text(value, "an access mode");
  for (std::size_t i = 1; i < kAccessModeNames.size(); ++i) {
    if (kAccessModeNames[i] == word) {
      return static_cast<AccessMode>(i);
    }
  }
  throw_input_error("unknown access mode '{}'; allowed: r, w, rw", printable(word));
}

std::uint32_t parse_u32(const JsonValue& value, std::string_view what) {
  return static_cast<std::uint32_t>(json_integer(value, what, kMaxU32));
}

std::uint32_t u32(JsonFields& fields, std::string_view key, std::uint32_t otherwise = 0) {
  return static_cast<std::uint32_t>(fields.integer(key, otherwise, kMaxU32));
}

std::int64_t time(JsonFields& fields, std::string_view key) {
  return static_cast<std::int64_t>(fields.integer(key, 0, kMaxTime));
}

std::int32_t device(JsonFields& fields, std::string_view key, std::int32_t min) {
  return static_cast<std::int32_t>(fields.signed_integer(key, 0, min, kMaxDevice));
}

void parse_extents(const JsonValue& value, std::vector<Extent>& out) {
  out.clear();
  for (const JsonValue& item : json_array(value, "a list of extents")) {
    const auto& parts = json_array(item, "an extent [first, count, mode]", 3);
    out.push_back({json_integer(parts[0], "first of an extent", kMaxQuantum),
                   json_integer(parts[1], "count of an extent", kMaxQuantum), parse_mode(parts[2])});
  }
}

Dim3 parse_dimensions(JsonFields& fields, std::string_view key) {
  Dim3 out;
  if (const JsonValue* value = fields.find(key)) {
    const auto& parts = json_array(*value, key);
    if (parts.empty() || parts.size() > 3) {
      throw_input_error("{}: '{}' must be a list [x, y, z] of 1 to 3 integers", fields.context(), key);
    }
    std::uint32_t* const targets[] = {&out.x, &out.y, &out.z};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      *targets[i] = parse_u32(parts[i], key);
    }
  }
  return out;
}

CopyEnd parse_place(JsonFields& fields, std::string_view key) {
  CopyEnd out;
  if (const JsonValue* value = fields.find(key)) {
    const auto& parts = json_array(*value, "an end of a copy [object, offset]", 2);
    out.object = json_integer(parts[0], "object of a copy");
    out.offset = json_integer(parts[1], "offset of a copy");
  }
  return out;
}

void read(JsonFields& fields, ObjectAlloc& object) {
  object.id = fields.required_integer("id");
  read_name(fields, "kind", kObjectKindNames, object.kind);
  object.bytes = fields.required_integer("bytes");
  object.va = fields.integer("va", 0);
  object.device = device(fields, "device", -1);
}
void read(JsonFields& fields, ObjectFree& object) { object.id = fields.required_integer("id"); }
void read(JsonFields& fields, TensorAlloc& tensor) {
  tensor.id = fields.required_integer("id");
  tensor.bytes = fields.required_integer("bytes");
  tensor.stream = u32(fields, "stream");
  tensor.object = fields.integer("object", kNoObject);
  tensor.offset = fields.integer("offset", 0);
  tensor.name = fields.text("name");
}
void read(JsonFields& fields, TensorFree& tensor) { tensor.id = fields.required_integer("id"); }

void read_accesses(const JsonValue& value, Kernel& kernel) {
  const auto& items = json_array(value, "'accesses'");
  kernel.accesses.resize(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const auto& parts = json_array(items[i], "an access [object, extents]", 2);
    kernel.accesses[i].object = json_integer(parts[0], "object of an access");
    parse_extents(parts[1], kernel.accesses[i].extents.edit());
  }
}

void read_touches(const JsonValue& value, Kernel& kernel) {
  for (const JsonValue& item : json_array(value, "'touches'")) {
    const auto& parts = json_array(item, "a touch [slot, quantum, mode]", 3);
    kernel.touches.push_back({parse_u32(parts[0], "slot of a touch"),
                              json_integer(parts[1], "quantum of a touch", kMaxQuantum), parse_mode(parts[2])});
  }
}

void read_phases(const JsonValue& value, Kernel& kernel) {
  std::vector<Phase>& phases = kernel.phases.edit();
  for (const JsonValue& item : json_array(value, "'phases'")) {
    const auto& parts = json_array(item, "a phase [first_block, block_count, accesses]", 3);
    Phase& phase = phases.emplace_back();
    phase.first_block = json_integer(parts[0], "first_block of a phase");
    phase.block_count = json_integer(parts[1], "block_count of a phase");
    for (const JsonValue& access : json_array(parts[2], "accesses of a phase")) {
      const auto& pair = json_array(access, "an access of a phase [slot, extents]", 2);
      PhaseAccess& out = phase.accesses.emplace_back();
      out.slot = parse_u32(pair[0], "slot of a phase");
      parse_extents(pair[1], out.extents);
    }
  }
}

void read_order(const JsonValue& value, Kernel& kernel) {
  for (const JsonValue& item : json_array(value, "'order'")) {
    const auto& parts = json_array(item, "a first touch [slot, unit]", 2);
    kernel.order.push_back({parse_u32(parts[0], "slot of a first touch"), json_integer(parts[1], "unit of an order")});
  }
}

void read_counts(const JsonValue& value, Kernel& kernel) {
  for (const JsonValue& item : json_array(value, "'counts'")) {
    const auto& parts = json_array(item, "a count [slot, unit, count]", 3);
    kernel.counts.push_back({parse_u32(parts[0], "slot of a count"), json_integer(parts[1], "unit of a count"),
                             parse_u32(parts[2], "a count of accesses")});
  }
}

void read(JsonFields& fields, Kernel& kernel) {
  kernel.name = json_text(fields.require("name"), "kernel: 'name'");
  kernel.stream = u32(fields, "stream");
  kernel.device = device(fields, "device", 0);
  kernel.grid = parse_dimensions(fields, "grid");
  kernel.block = parse_dimensions(fields, "block");
  kernel.registers_per_thread = u32(fields, "registers_per_thread");
  kernel.shared_bytes_per_block = u32(fields, "shared_bytes_per_block");
  kernel.host_gap_ns = time(fields, "host_gap_ns");
  kernel.duration_ns = static_cast<std::int64_t>(fields.required_integer("duration_ns", kMaxTime));
  read_name(fields, "distribution", kDistributionNames, kernel.distribution);
  kernel.bytes_per_thread_access = u32(fields, "bytes_per_thread_access");
  read_name(fields, "coverage", kCoverageNames, kernel.coverage);
  read_accesses(fields.require("accesses"), kernel);
  if (const JsonValue* touches = fields.find("touches")) {
    read_touches(*touches, kernel);
  }
  if (const JsonValue* phases = fields.find("phases")) {
    read_phases(*phases, kernel);
  }
  kernel.unknown_accesses = fields.integer("unknown_accesses", 0);
  if (const JsonValue* order = fields.find("order")) {
    read_order(*order, kernel);
  }
  if (const JsonValue* counts = fields.find("counts")) {
    read_counts(*counts, kernel);
  }
}

void read(JsonFields& fields, Memcpy& copy) {
  copy.dst = parse_place(fields, "dst");
  copy.src = parse_place(fields, "src");
  copy.bytes = fields.required_integer("bytes");
  read_name(fields, "kind", kCopyKindNames, copy.kind);
  copy.stream = u32(fields, "stream");
  copy.blocking = fields.boolean("blocking", true);
  copy.host_gap_ns = time(fields, "host_gap_ns");
}
template <class Operation>
void read_piece(JsonFields& fields, Operation& operation) {
  operation.object = fields.required_integer("object");
  operation.offset = fields.integer("offset", 0);
  operation.bytes = fields.required_integer("bytes");
}
void read(JsonFields& fields, Memset& set) {
  read_piece(fields, set);
  set.stream = u32(fields, "stream");
  set.host_gap_ns = time(fields, "host_gap_ns");
}
void read(JsonFields& fields, Prefetch& prefetch) {
  read_piece(fields, prefetch);
  prefetch.destination = device(fields, "destination", -1);
  prefetch.stream = u32(fields, "stream");
  prefetch.host_gap_ns = time(fields, "host_gap_ns");
}
void read(JsonFields& fields, Advise& advise) {
  read_piece(fields, advise);
  advise.advice = parse_name<Advice>(fields.require("advice"), "advise: 'advice'", kAdviceNames);
  advise.device = device(fields, "device", -1);
}
void read(JsonFields& fields, Discard& discard) {
  read_piece(fields, discard);
  discard.stream = u32(fields, "stream");
}
void read(JsonFields& fields, Sync& sync) {
  sync.kind = parse_name<SyncKind>(fields.require("kind"), "sync: 'kind'", kSyncKindNames);
  sync.stream = u32(fields, "stream");
  sync.event = fields.integer("event", 0);
  sync.host_gap_ns = time(fields, "host_gap_ns");
}
void read(JsonFields& fields, HostAccess& access) {
  access.object = fields.required_integer("object");
  if (const JsonValue* extents = fields.find("extents")) {
    parse_extents(*extents, access.extents.edit());
  }
  if (const JsonValue* touches = fields.find("touches")) {
    for (const JsonValue& item : json_array(*touches, "'touches'")) {
      const auto& parts = json_array(item, "a touch [quantum, mode]", 2);
      access.touches.emplace_back(json_integer(parts[0], "quantum of a touch", kMaxQuantum), parse_mode(parts[1]));
    }
  }
  access.host_gap_ns = time(fields, "host_gap_ns");
}
void read(JsonFields& fields, Range& range) {
  range.kind = parse_name<RangeKind>(fields.require("kind"), "range: 'kind'", kRangeKindNames);
  range.name = fields.text("name");
  range.index = fields.integer("index", 0);
}
void read(JsonFields& fields, UvmCounter& counter) {
  counter.kind = json_text(fields.require("kind"), "uvm_counter: 'kind'");
  counter.object = fields.integer("object", kNoObject);
  counter.offset = fields.integer("offset", 0);
  counter.value = fields.integer("value", 0);
  counter.start_ns = fields.signed_integer("start_ns", 0, -kMaxTimeNs, kMaxTimeNs);
  counter.end_ns = fields.signed_integer("end_ns", 0, -kMaxTimeNs, kMaxTimeNs);
  counter.flags = u32(fields, "flags");
}

// "t" of the object on the line.
const std::string& record_type(const JsonValue& object) {
  if (object.kind() != JsonValue::Kind::kObject) {
    throw_input_error("a record must be an object {{\"t\":...}}, not {}", object.kind_name());
  }
  for (const auto& [key, value] : object.members()) {
    if (key == "t") {
      return json_text(value, "'t'");
    }
  }
  throw_input_error("key 't' (the record type) is missing");
}

void refuse_raw_recording(const JsonValue& header) {
  for (const auto& [key, value] : header.members()) {
    if (key == "page_bytes") {
      throw_input_error("this is a raw recording, not a trace; convert it with 'uvmsim trace import raw'");
    }
  }
}

template <std::size_t Index = 0>
void read_alternative(std::size_t index, const JsonValue& object, Record& record) {
  if constexpr (Index < std::variant_size_v<Record>) {
    if (index != Index) {
      return read_alternative<Index + 1>(index, object, record);
    }
    JsonFields fields(object, kRecordTypeNames[Index]);
    fields.find("t");
    read(fields, reset_to<std::variant_alternative_t<Index, Record>>(record));
    fields.finish();
  }
}

}  // namespace

Header parse_json_header(std::string_view line) {
  const JsonValue object = parse_json(line);
  if (record_type(object) != "header") {
    throw_input_error("the first record must be {{\"t\":\"header\",...}}, not '{}'", printable(record_type(object)));
  }
  refuse_raw_recording(object);
  JsonFields fields(object, "header");
  fields.find("t");
  Header header;
  header.major = static_cast<std::uint32_t>(fields.required_integer("major", kMaxU32));
  header.minor = u32(fields, "minor");
  if (header.major != kSchemaMajor) {
    check_shape(header);  // refuses it before its keys, which may be new
  }
  header.quantum_bytes = u32(fields, "quantum_bytes", header.quantum_bytes);
  header.tool = fields.text("tool");
  header.gpu = fields.text("gpu");
  header.driver = fields.text("driver");
  header.program = fields.text("program");
  header.provenance = fields.text("provenance");
  if (const JsonValue* attributes = fields.find("attributes")) {
    for (const JsonValue& item : json_array(*attributes, "'attributes'")) {
      const auto& pair = json_array(item, "an attribute [key, value]", 2);
      header.attributes.emplace_back(json_text(pair[0], "key of an attribute"),
                                     json_text(pair[1], "value of an attribute"));
    }
  }
  fields.finish();
  return header;
}

void parse_json_record(std::string_view line, Record& record) {
  const JsonValue object = parse_json(line);
  const std::string& type = record_type(object);
  for (std::size_t i = 0; i < kRecordTypeNames.size(); ++i) {
    if (kRecordTypeNames[i] == type) {
      return read_alternative(i, object, record);
    }
  }
  if (type == "header") {
    throw_input_error("a second header");
  }
  throw_input_error("unknown record type '{}'{}", printable(type), allowed_hint(type, kRecordTypeNames));
}

}  // namespace uvmsim::trace
