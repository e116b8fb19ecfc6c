// SPDX-License-Identifier: Apache-2.0
#include "tracer/merge/event_parser.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/common/error.h"
#include "sim/trace/limits.h"
#include "sim/trace/names.h"

namespace uvmtrace {

namespace {

using uvmsim::json_array;
using uvmsim::json_integer;
using uvmsim::JsonFields;
using Json = nlohmann::ordered_json;
using uvmsim::throw_input_error;

constexpr std::uint64_t kMaxTime = static_cast<std::uint64_t>(trace::kMaxTimeNs);
constexpr std::uint64_t kLastQuantum = trace::kMaxAddress / kQuantumBytes;
constexpr std::uint64_t kLastPage = trace::kMaxAddress / kPageBytes;
constexpr std::uint64_t kMaxParameterBytes = 65536;
constexpr std::uint64_t kMaxStream = 4096;  // the simulator's limit

std::uint32_t u32(JsonFields& fields, std::string_view key, std::uint64_t max = UINT32_MAX) {
  return static_cast<std::uint32_t>(fields.integer(key, 0, max));
}
std::uint32_t stream(JsonFields& fields) { return u32(fields, "stream", kMaxStream); }
std::int32_t device(JsonFields& fields) { return static_cast<std::int32_t>(u32(fields, "device", trace::kMaxDevice)); }
// Reads a device, or -1 for the host.
std::int32_t location(JsonFields& fields) {
  return static_cast<std::int32_t>(fields.signed_integer("to", 0, -1, trace::kMaxDevice));
}
std::uint64_t address(JsonFields& fields, std::string_view key) {
  return fields.required_integer(key, trace::kMaxAddress);
}
std::uint64_t size(JsonFields& fields, std::string_view key) {
  return fields.required_integer(key, trace::kMaxObjectBytes);
}
std::int64_t time(JsonFields& fields, std::string_view key) {
  return static_cast<std::int64_t>(fields.integer(key, 0, kMaxTime));
}

template <std::size_t N>
std::size_t word(JsonFields& fields, std::string_view key, const std::array<std::string_view, N>& allowed) {
  const std::string& text = uvmsim::json_text(fields.require(key), key);
  const auto found = std::find(allowed.begin(), allowed.end(), text);
  if (found == allowed.end()) {
    throw_input_error("{}: unknown {} '{}'{}", fields.context(), key, trace::printable(text),
                      trace::allowed_hint(text, allowed));
  }
  return static_cast<std::size_t>(found - allowed.begin());
}

trace::Dim3 dimensions(JsonFields& fields, std::string_view key) {
  const auto& parts = json_array(fields.require(key), key, 3);
  std::uint32_t values[3];
  for (std::size_t i = 0; i < 3; ++i) {
    values[i] = static_cast<std::uint32_t>(json_integer(parts[i], key, UINT32_MAX));
    if (values[i] == 0) throw_input_error("{}: '{}' has a dimension of 0", fields.context(), key);
  }
  return {values[0], values[1], values[2]};
}

trace::AccessMode mode(const Json& value) {
  const std::uint64_t number = json_integer(value, "an access mode", 3);
  if (number == 0) throw_input_error("access mode 0; allowed: 1 read, 2 write, 3 both");
  return static_cast<trace::AccessMode>(number);
}

// Reads [[first, count, mode], ...], which must ascend.
void runs(const Json& value, std::string_view what, std::uint64_t last, std::vector<trace::Extent>& out) {
  const auto& items = json_array(value, what);
  out.reserve(items.size());
  std::uint64_t end = 0;
  for (const Json& item : items) {
    const auto& parts = json_array(item, what, 3);
    const std::uint64_t first = json_integer(parts[0], what, last);
    const std::uint64_t count = json_integer(parts[1], what, last - first);
    if (count == 0 || first < end) {
      throw_input_error("{}: run {} (from {} on, {} of them) is empty or not above the one before", what, out.size(),
                        first, count);
    }
    out.push_back({first, count, mode(parts[2])});
    end = first + count;
  }
}

}  // namespace

std::uint32_t EventParser::name_number(const std::string& name) {
  if (name.empty()) return 0;
  const auto [found, is_new] = names_.try_emplace(name, static_cast<std::uint32_t>(log_.names.size()));
  if (is_new) {
    if (name.size() > trace::kMaxNameBytes) {
      throw_input_error("a name of {} bytes; allowed: at most {}", name.size(), trace::kMaxNameBytes);
    }
    log_.names.push_back(name);
  }
  return found->second;
}

void EventParser::header(const Json& value, std::optional<Pass> expected) {
  JsonFields fields(value, "header");
  if (fields.text("t") != "header") {
    throw_input_error("not an event log: the first line must be a header {{\"t\":\"header\",...}}");
  }
  const std::uint64_t version = fields.required_integer("version");
  if (version != 1) throw_input_error("event log of version {}; this program reads version 1", version);
  LogHeader& out = log_.header;
  out.pass = static_cast<Pass>(word(fields, "pass", kPassNames));
  if (expected && out.pass != *expected) {
    throw_input_error("this is the log of the {} pass; the {} pass is needed here", name_of(out.pass),
                      name_of(*expected));
  }
  out.tool = fields.text("tool");
  out.gpu = fields.text("gpu");
  out.driver = fields.text("driver");
  out.cuda = fields.text("cuda");
  out.rank = fields.text("rank");
  out.settings = fields.text("settings");
  out.started_ns = fields.integer("started_ns", 0, kMaxTime);
  out.pid = fields.integer("pid", 0);
  out.sm_count = u32(fields, "sm_count");
  out.phases = fields.integer("phases", 0);
  if (const Json* program = fields.find("program")) {
    for (const Json& item : json_array(*program, "'program'")) {
      out.program.push_back(uvmsim::json_text(item, "an argument of the program"));
    }
  }
  if (const Json* capability = fields.find("compute_capability")) {
    const auto& parts = json_array(*capability, "'compute_capability'", 2);
    for (std::size_t i = 0; i < 2; ++i) {
      out.compute_capability[i] =
          static_cast<std::uint32_t>(json_integer(parts[i], "'compute_capability'", UINT32_MAX));
    }
  }
  for (const auto& [key, wanted] : {std::pair("quantum_bytes", kQuantumBytes), std::pair("phase_bytes", kPageBytes)}) {
    const std::uint64_t found = fields.integer(key, wanted);
    if (found != wanted) throw_input_error("header: '{}' is {}; this program reads {}", key, found, wanted);
  }
  ++log_.lines_by_type["header"];
}

void EventParser::line(const Json& value, std::uint64_t number) {
  JsonFields outer(value, "event");
  const std::string& type = uvmsim::json_text(outer.require("t"), "'t'");
  JsonFields fields(value, type);
  if (log_.complete) throw_input_error("{} after the end of the log", trace::printable(type));
  if (type == "note") {
    log_.notes.push_back(fields.text("text"));
  } else if (type == "end") {
    log_.dropped = fields.integer("dropped", 0);
    log_.complete = true;
  } else if (type == "header") {
    throw_input_error("a second header");
  } else if (!gpu_event(type, fields)) {
    Event event;
    if (!host_event(type, fields, event)) {
      ++log_.unknown_types[type];
      return;
    }
    event.seq = fields.required_integer("seq");
    event.tid = u32(fields, "tid");
    event.begin_ns = time(fields, "begin_ns");
    event.end_ns = std::max(time(fields, "end_ns"), event.begin_ns);
    event.line = number;
    log_.events.push_back(std::move(event));
  }
  ++log_.lines_by_type[type];
}

bool EventParser::gpu_event(const std::string& type, Fields& fields) {
  if (type == "memcpy_time" || type == "memset_time") return true;
  if (type == "kernel") {
    KernelTime out;
    out.start_ns = time(fields, "start_ns");
    out.end_ns = time(fields, "end_ns");
    out.registers = u32(fields, "registers");
    out.shared_bytes = u32(fields, "shared_bytes");
    log_.kernel_times.emplace(std::pair(fields.required_integer("corr"), fields.integer("node", 0)), out);
    return true;
  }
  if (type == "uvm") {
    UvmEvent out;
    out.counter = fields.text("counter");
    out.counter.resize(std::min(out.counter.size(), trace::kMaxNameBytes));
    out.va = fields.integer("va", 0);
    out.value = fields.integer("value", 0);
    out.start_ns = time(fields, "start_ns");
    out.end_ns = time(fields, "end_ns");
    out.flags = u32(fields, "flags");
    log_.uvm.push_back(std::move(out));
    return true;
  }
  if (type == "free_memory") {
    log_.free_memory_read = true;
    return true;
  }
  if (type == "device_memory") {
    constexpr auto kMost = static_cast<std::int64_t>(trace::kMaxObjectBytes);
    MemoryTaken out;
    out.seq = fields.required_integer("seq");
    out.bytes = fields.signed_integer("taken", 0, -kMost, kMost);
    out.device = device(fields);
    out.call = name_number(fields.text("call"));
    out.allocation = fields.boolean("allocation", false);
    log_.memory_taken.push_back(out);
    return true;
  }
  if (type == "tensor_copies") {
    tensor_copies(fields);
    return true;
  }
  if (type == "tensor_maps") {
    log_.maps_verified = fields.integer("verified", 0);
    log_.maps_decoded = log_.maps_verified != 0;
    log_.maps_refused = fields.text("why");
    return true;
  }
  return false;
}

bool EventParser::host_event(const std::string& type, Fields& fields, Event& event) {
  static constexpr std::array<std::string_view, 6> kKinds = {"device", "managed", "pinned", "pool", "vmm", "module"};
  if (type == "launch") {
    launch(fields, event.what.emplace<LaunchEvent>());
  } else if (type == "tensor_alloc") {
    event.what = TensorAllocEvent{address(fields, "va"), size(fields, "bytes"), stream(fields)};
  } else if (type == "tensor_free" || type == "tensor_free_done") {
    event.what = TensorFreeEvent{address(fields, "va"), type == "tensor_free_done"};
  } else if (type == "alloc") {
    const auto kind = static_cast<MemoryKind>(word(fields, "kind", kKinds));
    event.what = AllocEvent{kind, address(fields, "va"), size(fields, "bytes"), device(fields), false, stream(fields)};
  } else if (type == "segment_alloc") {
    event.what = AllocEvent{MemoryKind::kDevice, address(fields, "va"), size(fields, "bytes"), device(fields), true, 0};
  } else if (type == "free" || type == "segment_free") {
    event.what = FreeEvent{address(fields, "va"), type == "segment_free"};
  } else if (type == "memcpy") {
    copy(fields, event.what.emplace<CopyEvent>());
  } else if (type == "memset") {
    set(fields, event.what.emplace<SetEvent>());
  } else if (type == "sync") {
    sync(fields, event.what.emplace<SyncEvent>());
  } else if (type == "push") {
    event.what = RangeEvent{trace::RangeKind::kPush, name_number(fields.text("name")), 0};
  } else if (type == "pop") {
    event.what = RangeEvent{trace::RangeKind::kPop, 0, 0};
  } else if (type == "iteration") {
    const auto kind =
        fields.boolean("begin", true) ? trace::RangeKind::kIterationBegin : trace::RangeKind::kIterationEnd;
    event.what = RangeEvent{kind, 0, fields.required_integer("index")};
  } else if (type == "operator") {
    name_number(fields.text("name"));
    operator_tensors(fields, event.what.emplace<OperatorEvent>());
  } else if (type == "operator_outputs") {
    auto& outputs = event.what.emplace<OperatorEvent>();
    outputs.kind = OperatorEvent::Kind::kOutputs;
    operator_tensors(fields, outputs);
  } else if (type == "operator_end") {
    event.what = OperatorEvent{OperatorEvent::Kind::kEnd, {}};
  } else if (type == "prefetch") {
    event.what = PrefetchEvent{address(fields, "va"), size(fields, "bytes"), location(fields), stream(fields)};
  } else if (type == "advise") {
    const auto advice = static_cast<trace::Advice>(word(fields, "advice", trace::kAdviceNames));
    event.what = AdviseEvent{address(fields, "va"), size(fields, "bytes"), advice, location(fields)};
  } else if (type == "discard") {
    event.what = DiscardEvent{address(fields, "va"), size(fields, "bytes"), stream(fields),
                              fields.boolean("prefetch", false), location(fields)};
  } else if (type == "window") {
    event.what = WindowEvent{fields.boolean("open", true)};
  } else {
    return false;
  }
  return true;
}

void EventParser::launch(Fields& fields, LaunchEvent& out) {
  Launch launch;
  launch.corr = fields.integer("corr", 0);
  launch.node = fields.integer("node", 0);
  launch.name = name_number(uvmsim::json_text(fields.require("name"), "launch: 'name'"));
  launch.grid = dimensions(fields, "grid");
  launch.block = dimensions(fields, "block");
  constexpr std::uint32_t kMaxGridX = 0x7fffffff, kMaxGridYZ = 65535, kMaxBlockThreads = 1024;  // CUDA's own limits
  const bool grid_fits = launch.grid.x <= kMaxGridX && launch.grid.y <= kMaxGridYZ && launch.grid.z <= kMaxGridYZ;
  const bool sides_fit = std::max({launch.block.x, launch.block.y, launch.block.z}) <= kMaxBlockThreads;
  if (!grid_fits || !sides_fit || launch.block.count() > kMaxBlockThreads) {
    throw_input_error("launch: grid {}x{}x{} block {}x{}x{}; CUDA allows {}x{}x{} and {} threads", launch.grid.x,
                      launch.grid.y, launch.grid.z, launch.block.x, launch.block.y, launch.block.z, kMaxGridX,
                      kMaxGridYZ, kMaxGridYZ, kMaxBlockThreads);
  }
  launch.stream = stream(fields);
  launch.device = device(fields);
  if (const Json* params = fields.find("params")) {
    for (const Json& item : json_array(*params, "'params'")) {
      launch.params.push_back(json_integer(item, "an address among the parameters"));
    }
  }
  maps(fields, launch);
  instrumented(fields, launch);
  out.launch = log_.launches.size();
  log_.launches.push_back(std::move(launch));
}

void EventParser::maps(Fields& fields, Launch& out) {
  const Json* list = fields.find("maps");
  if (list == nullptr) return;
  for (const Json& item : json_array(*list, "'maps'")) {
    const auto& parts = json_array(item, "a map [offset, va, bits, im2col, dimensions, strides, box]", 7);
    MapParameter& parameter = out.maps.emplace_back();
    TensorMap& map = parameter.map;
    parameter.offset = static_cast<std::uint32_t>(json_integer(parts[0], "offset of a map", kMaxParameterBytes));
    map.va = json_integer(parts[1], "address of a map", trace::kMaxAddress);
    map.element_bits = static_cast<std::uint32_t>(json_integer(parts[2], "bits of an element of a map", 64));
    map.im2col = json_integer(parts[3], "'im2col' of a map", 1) == 1;
    const auto& dims = json_array(parts[4], "dimensions of a map");
    map.rank = static_cast<std::uint32_t>(std::min<std::size_t>(dims.size(), kMaxMapRank + 1));
    const auto& strides = json_array(parts[5], "strides of a map");
    const auto& box = json_array(parts[6], "box of a map");
    if (map.rank < 1 || map.rank > kMaxMapRank || strides.size() != map.rank - 1 ||
        box.size() != (map.im2col ? 1 : map.rank)) {
      throw_input_error("a map of {} dimensions, {} strides and {} sides of a box", dims.size(), strides.size(),
                        box.size());
    }
    for (std::uint32_t d = 0; d < map.rank; ++d) {
      map.dims[d] = json_integer(dims[d], "a dimension of a map");
      if (d != 0) map.strides[d - 1] = json_integer(strides[d - 1], "a stride of a map");
      if (d < box.size()) map.box[d] = static_cast<std::uint32_t>(json_integer(box[d], "a side of a box", 256));
    }
    if (!is_possible(map) || span_bytes(map) > trace::kMaxObjectBytes) {
      throw_input_error("a map at {} that CUDA does not allow", map.va);
    }
  }
}

void EventParser::tensor_copies(Fields& fields) {
  auto& out = log_.copies[name_number(uvmsim::json_text(fields.require("name"), "tensor_copies: 'name'"))];
  out.clear();  // replaces an earlier line, which knew less
  for (const Json& item : json_array(fields.require("copies"), "'copies'")) {
    const auto& parts = json_array(item, "a copy [kind, sure, repeated, count, offsets]", 5);
    CopyCode& code = out.emplace_back();
    const std::uint64_t kind = json_integer(parts[0], "kind of a copy", 3);
    if (kind == 0) throw_input_error("kind of a copy 0; allowed: 1 load, 2 store, 3 reduction");
    code.copy.kind = static_cast<TensorCopy::Kind>(kind);
    code.copy.sure = json_integer(parts[1], "'sure' of a copy", 1) == 1;
    code.copy.repeated = json_integer(parts[2], "'repeated' of a copy", 1) == 1;
    code.count = json_integer(parts[3], "count of a copy", UINT32_MAX);
    for (const Json& offset : json_array(parts[4], "offsets of a copy")) {
      code.copy.offsets.push_back(
          static_cast<std::uint32_t>(json_integer(offset, "offset of a copy's map", UINT32_MAX)));
    }
  }
}

void EventParser::instrumented(Fields& fields, Launch& out) {
  const Json* accesses = fields.find("accesses");
  out.patched = fields.boolean("patched", accesses != nullptr);
  if (accesses != nullptr) runs(*accesses, "'accesses' [first, count, mode]", kLastQuantum, out.accesses);
  out.unknown = fields.integer("unknown", 0, UINT64_MAX / 2);
  if (const Json* phases = fields.find("phases")) {
    std::uint64_t end = 0;
    const std::uint64_t blocks = out.grid.count();
    for (const Json& item : json_array(*phases, "'phases'")) {
      const auto& parts = json_array(item, "a phase [first_block, block_count, runs]", 3);
      PhaseRuns& phase = out.phases.emplace_back();
      phase.first_block = json_integer(parts[0], "first block of a phase", blocks);
      phase.block_count = json_integer(parts[1], "count of blocks of a phase", blocks - phase.first_block);
      if (phase.block_count == 0 || phase.first_block < end) {
        throw_input_error("phase {} (blocks from {} on, {} of them) is empty or not above the one before",
                          out.phases.size() - 1, phase.first_block, phase.block_count);
      }
      end = phase.first_block + phase.block_count;
      runs(parts[2], "runs of a phase [first, count, mode]", kLastPage, phase.pages);
    }
  }
  if (const Json* order = fields.find("order")) {
    for (const Json& item : json_array(*order, "'order'")) {
      out.order.push_back(json_integer(item, "a page of the order", kLastPage));
    }
  }
  if (const Json* counts = fields.find("counts")) {
    for (const Json& item : json_array(*counts, "'counts'")) {
      const auto& parts = json_array(item, "a count [page, count]", 2);
      const std::uint64_t count = json_integer(parts[1], "a count");
      out.counts.emplace_back(json_integer(parts[0], "a page of a count", kLastPage),
                              static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX)));
    }
  }
}

void EventParser::copy(Fields& fields, CopyEvent& out) {
  static constexpr std::array<std::string_view, 5> kKinds = {"htod", "dtoh", "dtod", "htoh", "unknown"};
  out.dst = fields.required_integer("dst");
  out.src = fields.required_integer("src");
  const std::uint64_t bytes = size(fields, "bytes");
  out.kind = static_cast<trace::CopyKind>(word(fields, "kind", kKinds));
  out.async = fields.boolean("async", false);
  out.stream = stream(fields);
  out.rows = std::max<std::uint64_t>(fields.integer("rows", 1, trace::kMaxObjectBytes), 1);
  out.row_bytes = fields.integer("row_bytes", bytes / out.rows, trace::kMaxObjectBytes / out.rows);
  out.dst_pitch = fields.integer("dst_pitch", out.row_bytes, trace::kMaxObjectBytes / out.rows);
  out.src_pitch = fields.integer("src_pitch", out.row_bytes, trace::kMaxObjectBytes / out.rows);
}

void EventParser::set(Fields& fields, SetEvent& out) {
  out.va = address(fields, "va");
  const std::uint64_t bytes = size(fields, "bytes");
  out.async = fields.boolean("async", true);
  out.stream = stream(fields);
  out.rows = std::max<std::uint64_t>(fields.integer("rows", 1, trace::kMaxObjectBytes), 1);
  out.row_bytes = fields.integer("row_bytes", bytes / out.rows, trace::kMaxObjectBytes / out.rows);
  out.pitch = fields.integer("pitch", out.row_bytes, trace::kMaxObjectBytes / out.rows);
}

void EventParser::sync(Fields& fields, SyncEvent& out) {
  out.kind = static_cast<trace::SyncKind>(word(fields, "kind", trace::kSyncKindNames));
  out.stream = stream(fields);
  out.event = fields.integer("event", 0);
}

void EventParser::operator_tensors(Fields& fields, OperatorEvent& out) {
  if (const Json* tensors = fields.find("tensors")) {
    for (const Json& item : json_array(*tensors, "'tensors'")) {
      const auto& parts = json_array(item, "a tensor [va, bytes, mode]", 3);
      const std::uint64_t va = json_integer(parts[0], "address of a tensor", trace::kMaxAddress);
      const std::uint64_t bytes = json_integer(parts[1], "size of a tensor", trace::kMaxObjectBytes);
      const trace::AccessMode how = mode(parts[2]);
      if (bytes != 0) out.tensors.push_back({va, bytes, how});
    }
  }
}

}  // namespace uvmtrace
