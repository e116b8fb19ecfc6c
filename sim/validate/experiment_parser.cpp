// SPDX-License-Identifier: Apache-2.0
#include "sim/validate/experiment_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_set>
#include <utility>

#include "sim/common/error.h"
#include "sim/common/units.h"
#include "sim/formats/decimal.h"
#include "sim/trace/names.h"
#include "sim/validate/pair.h"

namespace uvmsim::validate {

namespace {

using Json = nlohmann::ordered_json;

// Nanoseconds since 1970 fit, and differences do not overflow.
constexpr std::int64_t kMaxTime = std::int64_t{1} << 61;
constexpr std::int64_t kMaxKernelNs = std::int64_t{3600} * 1000000000;
constexpr std::size_t kMaxKernels = 1000000;
constexpr std::int64_t kMaxAddress = std::int64_t{1} << 57;
// An event that belongs to no tensor has its address as its offset until add_unlisted_outputs() gives it an allocation.
constexpr std::size_t kUnlisted = SIZE_MAX;
constexpr std::uint32_t kMaxBlocks = 1u << 31;
constexpr std::size_t kMaxName = 200;
constexpr std::size_t kMaxRuns = 100000;
constexpr std::uint64_t kMaxPicoseconds = std::uint64_t{1} << 40;

std::optional<EventKind> event_kind(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, EventKind>, 7> kinds{{
      {"gpu_fault", EventKind::kFaultBatch},
      {"htod", EventKind::kHostToDevice},
      {"dtoh", EventKind::kDeviceToHost},
      {"dtod", EventKind::kDeviceToDevice},
      {"cpu_fault", EventKind::kCpuFault},
      {"remote_map", EventKind::kRemoteMap},
      {"thrashing", EventKind::kThrashing},
  }};
  for (const auto& [name, kind] : kinds) {
    if (name == text) return kind;
  }
  return std::nullopt;
}

std::vector<ByteRange> parse_ranges(JsonFields& fields, std::string_view key, std::uint64_t bytes) {
  std::vector<ByteRange> ranges;
  std::uint64_t end = 0;
  for (const Json& item : json_array(fields.require(key), key)) {
    const auto& pair = json_array(item, key, 2);
    const ByteRange range{json_integer(pair[0], "offset", bytes), json_integer(pair[1], "length", bytes)};
    if (range.bytes == 0 || range.offset < end || range.bytes > bytes - range.offset) {
      throw_input_error("'{}': range [{}, {}] is empty, not ascending, or ends beyond the {} bytes of the allocation",
                        key, range.offset, range.bytes, bytes);
    }
    end = range.offset + range.bytes;
    ranges.push_back(range);
  }
  return ranges;
}

std::vector<PageTouch> parse_touches(const Json& list, std::uint64_t bytes) {
  const std::uint64_t last_page = (bytes - 1) / kBasePageBytes;
  std::vector<PageTouch> touches;
  for (const Json& item : json_array(list, "touches")) {
    const auto& pair = json_array(item, "touches", 2);
    const std::string& mode = json_text(pair[1], "the mode of a touch");
    if (mode != "r" && mode != "w") throw_input_error("the mode of a touch is '{}'; allowed: r, w", printable(mode));
    touches.push_back({json_integer(pair[0], "the page of a touch", last_page),
                       mode == "r" ? trace::AccessMode::kRead : trace::AccessMode::kWrite});
  }
  return touches;
}

std::vector<std::string> parse_advice(const std::string& text) {
  static constexpr std::array<std::string_view, 7> allowed{"preferred_host",  "preferred_gpu",    "preferred_peer",
                                                           "accessed_by_gpu", "accessed_by_peer", "accessed_by_host",
                                                           "read_mostly"};
  std::vector<std::string> advice;
  if (text == "none" || text.empty()) return advice;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('+', begin), text.size());
    advice.push_back(text.substr(begin, end - begin));
    if (std::find(allowed.begin(), allowed.end(), advice.back()) == allowed.end()) {
      throw_input_error("'advise' names '{}'; allowed: none, or {} joined by +", printable(advice.back()),
                        fmt::join(allowed, ", "));
    }
    begin = end + 1;
  }
  return advice;
}

void parse_mode(const std::string& text, Experiment& experiment) {
  for (std::size_t i = 0; i < kModes; ++i) {
    if (kModeTable[i].name != text) continue;
    experiment.mode = static_cast<Mode>(i);
    return;
  }
  constexpr std::string_view parallel = "parallel";
  const std::uint64_t threads = text.starts_with(parallel) ? parse_digits(text.substr(parallel.size())).value_or(0) : 0;
  if (threads >= 1 && threads <= 1024) {
    experiment.mode = Mode::kParallel;
    experiment.threads_per_block = static_cast<std::uint32_t>(threads);
    return;
  }
  throw_input_error(
      "'mode' is '{}'; allowed: ordered, parallel<threads per block, 1 to 1024>, stream_rd, stream_wr, vadd, cpu, "
      "prefetch",
      text);
}

MeasuredKernel& add_kernel_times(std::int64_t start, std::int64_t end, Experiment& experiment) {
  if (end < start || end - start > kMaxKernelNs) {
    throw_input_error("a kernel runs from {} to {} ns; allowed: 0 to {} ns long", start, end, kMaxKernelNs);
  }
  if (experiment.kernels.size() == kMaxKernels) throw_input_error("more than {} kernels", kMaxKernels);
  MeasuredKernel& kernel = experiment.kernels.emplace_back();
  kernel.start_ns = start;
  kernel.end_ns = end;
  return kernel;
}

// Parses an event of the two formats: [kind, start, end, (tensor,) offset, value, flags].
void parse_event(const Json& item, bool with_tensor, Experiment& experiment, std::set<std::string>& unknown) {
  const auto& fields = json_array(item, "an event", with_tensor ? 7 : 6);
  const std::string& kind = json_text(fields[0], "the kind of an event");
  const std::int64_t start = json_signed_integer(fields[1], "the start of an event", -kMaxTime, kMaxTime);
  const std::int64_t end = json_signed_integer(fields[2], "the end of an event", -kMaxTime, kMaxTime);
  if (!with_tensor && kind == "kernel") {
    add_kernel_times(start, end, experiment);
    return;
  }
  const std::optional<EventKind> known = event_kind(kind);
  if (!known) {
    unknown.insert(fmt::format("events of kind '{}' are not part of the format and were ignored", printable(kind)));
    return;
  }
  MeasuredEvent event;
  event.kind = *known;
  event.start_ns = start;
  event.end_ns = end;
  std::size_t next = 3;
  if (with_tensor) {
    const auto tensors = static_cast<std::int64_t>(experiment.allocations.size());
    const std::int64_t tensor = json_signed_integer(fields[next++], "the tensor of an event", -1, tensors - 1);
    event.allocation = tensor < 0 ? kUnlisted : static_cast<std::size_t>(tensor);
  }
  const std::int64_t limit = event.allocation == kUnlisted ? kMaxAddress : static_cast<std::int64_t>(kMaxBytes);
  event.offset =
      json_signed_integer(fields[next], "the offset of an event", event.allocation == kUnlisted ? 0 : -limit, limit);
  event.value = json_integer(fields[next + 1], "the value of an event");
  event.flags = static_cast<std::uint32_t>(json_integer(fields[next + 2], "the flags of an event", UINT32_MAX));
  const bool transfer = event.kind == EventKind::kHostToDevice || event.kind == EventKind::kDeviceToHost ||
                        event.kind == EventKind::kDeviceToDevice;
  if (transfer && event.value > kMaxBytes) {
    throw_input_error("an event '{}' moves {} bytes; allowed: 0 to {}", kind, event.value, kMaxBytes);
  }
  experiment.events.push_back(event);
}

trace::Dim3 parse_dimensions(const Json& value, std::string_view what) {
  const auto& items = json_array(value, what, 3);
  std::array<std::uint32_t, 3> sizes{};
  std::uint64_t count = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    sizes[i] = static_cast<std::uint32_t>(json_integer(items[i], what, kMaxBlocks));
    count = sizes[i] == 0 ? 0 : count <= kMaxBlocks / sizes[i] ? count * sizes[i] : 0;
  }
  if (count == 0) throw_input_error("{} must have three sizes of 1 or more and at most {} in all", what, kMaxBlocks);
  return {sizes[0], sizes[1], sizes[2]};
}

void parse_library_kernel(const Json& item, Experiment& experiment, std::set<std::string>& unknown) {
  JsonFields fields(item, "kernel");
  const std::int64_t start = json_signed_integer(fields.require("start_ns"), "start_ns", -kMaxTime, kMaxTime);
  const std::int64_t end = json_signed_integer(fields.require("end_ns"), "end_ns", -kMaxTime, kMaxTime);
  MeasuredKernel& kernel = add_kernel_times(start, end, experiment);
  kernel.name = json_text(fields.require("kernel"), "the name of a kernel");
  kernel.grid = parse_dimensions(fields.require("grid"), "the grid of a kernel");
  kernel.block = parse_dimensions(fields.require("block"), "the block of a kernel");
  if (kernel.block.count() > 1024) {
    throw_input_error("a block has {} threads; allowed: 1 to 1024", kernel.block.count());
  }
  kernel.registers_per_thread = static_cast<std::uint32_t>(fields.integer("registers", 0, 1024));
  kernel.shared_bytes_per_block = static_cast<std::uint32_t>(fields.integer("shared_bytes", 0, 1u << 24));
  kernel.native_ns = fields.signed_integer("native_ns", 0, 0, kMaxKernelNs);
  note_unknown_keys(fields, unknown);
}

Allocation parse_tensor(const Json& item, std::set<std::string>& unknown) {
  JsonFields fields(item, "tensor");
  Allocation tensor;
  tensor.name = name_of(fields, "name");
  const std::string role = name_of(fields, "role");
  if (role != "input" && role != "output") {
    throw_input_error("tensor '{}' has role '{}'; allowed: input, output", tensor.name, role);
  }
  tensor.output = role == "output";
  for (const Json& size : json_array(fields.require("shape"), "the shape of a tensor")) {
    tensor.shape.push_back(json_integer(size, "the shape of a tensor", kMaxBytes));
  }
  tensor.bytes = json_integer(fields.require("bytes"), "the bytes of a tensor", kMaxBytes);
  if (tensor.bytes == 0) throw_input_error("tensor '{}' has 0 bytes; allowed: 1 to {}", tensor.name, kMaxBytes);
  tensor.offset_in_block = fields.required_integer("va_offset_in_2m", kBlockBytes - 1);
  fields.find("dtype");  // informative only
  note_unknown_keys(fields, unknown);
  return tensor;
}

// A call may write memory other than its tensors, such as the indices of a max pooling. It appears only in events, with
// addresses: every run of them becomes one output of whole 2 MB blocks, from the first to the last.
void add_unlisted_outputs(Experiment& experiment) {
  constexpr std::uint64_t largest_gap = 16 * kBlockBytes;  // between two events of one allocation
  std::vector<std::uint64_t> blocks;
  for (const MeasuredEvent& event : experiment.events) {
    if (event.allocation == kUnlisted) blocks.push_back(static_cast<std::uint64_t>(event.offset) / kBlockBytes);
  }
  std::sort(blocks.begin(), blocks.end());
  for (std::size_t begin = 0, end = 0; begin < blocks.size(); begin = end) {
    for (end = begin + 1; end < blocks.size() && blocks[end] - blocks[end - 1] <= largest_gap / kBlockBytes;) ++end;
    Allocation output;
    output.name = fmt::format("unlisted{}", experiment.allocations.size());
    output.output = true;
    output.bytes = (blocks[end - 1] - blocks[begin] + 1) * kBlockBytes;
    if (output.bytes > kMaxBytes) throw_input_error("events of no tensor span {} bytes", output.bytes);
    for (MeasuredEvent& event : experiment.events) {
      const std::uint64_t block = static_cast<std::uint64_t>(event.offset) / kBlockBytes;
      if (event.allocation != kUnlisted || block < blocks[begin] || block > blocks[end - 1]) continue;
      event.allocation = experiment.allocations.size();
      event.offset -= static_cast<std::int64_t>(blocks[begin] * kBlockBytes);
    }
    experiment.allocations.push_back(std::move(output));
  }
}

std::vector<std::int64_t> parse_runs(JsonFields& fields, std::string_view key) {
  std::vector<std::int64_t> runs;
  const Json* list = fields.find(key);
  if (list == nullptr) return runs;
  for (const Json& run : json_array(*list, key)) runs.push_back(json_signed_integer(run, key, 0, kMaxKernelNs));
  if (runs.empty() || runs.size() > kMaxRuns) {
    throw_input_error("'{}' has {} runs; allowed: 1 to {}", key, runs.size(), kMaxRuns);
  }
  return runs;
}

void parse_unobserved(JsonFields& line, Experiment& experiment, std::set<std::string>& unknown) {
  const Json* value = line.find("unobserved");
  if (value == nullptr) return;
  JsonFields fields(*value, "unobserved");
  UnobservedTimes times;
  times.kernel_ns = parse_runs(fields, "kernel_ns");
  times.host_ns = parse_runs(fields, "host_ns");
  times.call_ns = parse_runs(fields, "call_ns");
  if (times.kernel_ns.empty() && times.host_ns.empty() && times.call_ns.empty()) {
    throw_input_error("'unobserved' has no times; allowed: kernel_ns, host_ns, call_ns");
  }
  if (!times.call_ns.empty() && !(times.kernel_ns.empty() && times.host_ns.empty())) {
    throw_input_error("'unobserved' has 'call_ns', which includes 'kernel_ns' and 'host_ns', beside one of them");
  }
  if (const Json* host = fields.find("host"); host != nullptr) {
    JsonFields speed(*host, "host");
    times.host =
        HostSpeed{printable(speed.text("cpu")), speed.integer("step_ps", 0, kMaxPicoseconds),
                  speed.integer("chase_ps", 0, kMaxPicoseconds), speed.integer("page_touch_ps", 0, kMaxPicoseconds)};
    note_unknown_keys(speed, unknown);
  }
  note_unknown_keys(fields, unknown);
  experiment.unobserved = std::move(times);
}

// Reads lists of pages, none of them twice.
PagesByBatch parse_page_order(const Json& batches) {
  constexpr const char* kKey = "page_order";
  PagesByBatch order;
  std::unordered_set<std::uint64_t> seen;
  for (const Json& batch : json_array(batches, kKey)) {
    order.emplace_back();
    for (const Json& item : json_array(batch, kKey)) {
      const std::uint64_t page = json_integer(item, kKey, kMaxBytes / kBasePageBytes);
      if (!seen.insert(page).second) throw_input_error("'{}' has page {} twice", kKey, page);
      order.back().push_back(page);
    }
  }
  return order;
}

void parse_raw(JsonFields& line, Experiment& experiment, std::set<std::string>& unknown) {
  const Json* value = line.find("raw");
  if (value == nullptr) return;
  JsonFields fields(*value, "raw");
  RawContents raw;
  raw.raw_faults = fields.required_integer("raw_faults", kMaxBytes);
  raw.raw_faults_per_batch = fields.required_integer("raw_faults_per_batch", kMaxBytes);
  raw.pages_per_batch = fields.required_integer("pages_per_batch", kMaxBytes);
  raw.sms_per_batch = fields.required_integer("sms_per_batch", kMaxBytes);
  if (fields.find("raising_ns_per_batch") != nullptr) {
    raw.raising_ns_per_batch =
        fields.required_integer("raising_ns_per_batch", static_cast<std::uint64_t>(kMaxKernelNs));
  }
  if (const Json* order = fields.find("page_order"); order != nullptr) raw.page_order = parse_page_order(*order);
  note_unknown_keys(fields, unknown);
  experiment.raw = std::move(raw);
}

// Remote-mapped memory has no fault that a listener to the driver could delay.
void add_unobserved_kernels(Experiment& experiment) {
  std::int64_t sum = 0;
  for (const MeasuredKernel& kernel : experiment.kernels) sum += kernel.end_ns - kernel.start_ns;
  experiment.unobserved.emplace().kernel_ns = {sum};
}

void parse_library(JsonFields& fields, Experiment& experiment, std::set<std::string>& unknown) {
  constexpr std::size_t kHost = 0, kRemote = 2;
  const std::size_t inputs = word_of(fields, "inputs_on", {"host", "gpu", "remote"});
  const bool said = fields.find("outputs_on") != nullptr;
  const std::size_t outputs = said ? word_of(fields, "outputs_on", {"host", "nowhere", "remote"}) : 1;
  experiment.mode = inputs == kRemote || outputs == kRemote ? Mode::kRemote : Mode::kLibrary;
  if (inputs == kRemote && outputs == kRemote) {
    throw_input_error("'inputs_on' and 'outputs_on' are both remote; allowed: one");
  }
  experiment.inputs_on_host = inputs == kHost;
  experiment.outputs_on_host = outputs == kHost;
  experiment.outputs_remote = outputs == kRemote;
  // The same call is measured with remote inputs and with remote outputs.
  if (experiment.mode == Mode::kRemote) {
    experiment.name += experiment.outputs_remote ? "/outputs_remote" : "/inputs_remote";
    if (fields.find("remote_bytes") != nullptr) {
      experiment.remote_bytes = fields.required_integer("remote_bytes", kMaxBytes);
    }
  } else {
    experiment.name += experiment.inputs_on_host ? "/host" : "/gpu";
    if (experiment.outputs_on_host) experiment.name += "/outputs_host";
  }
  experiment.note = fields.text("note");
  for (const Json& item : json_array(fields.require("tensors"), "tensors")) {
    experiment.allocations.push_back(parse_tensor(item, unknown));
  }
  if (experiment.allocations.empty()) throw_input_error("'tensors' is empty");
  for (const Json& item : json_array(fields.require("events"), "events")) {
    if (item.is_object()) {
      parse_library_kernel(item, experiment, unknown);
    } else {
      parse_event(item, true, experiment, unknown);
    }
  }
  if (experiment.kernels.empty()) throw_input_error("'events' has no kernel");
  add_unlisted_outputs(experiment);
  if (experiment.mode == Mode::kRemote && !experiment.unobserved) add_unobserved_kernels(experiment);
  fields.find("format");  // informative only
}

// CUPTI lost some events, or was not used. The kernel's time is then that of an unobserved run.
void parse_without_events(Experiment& experiment) {
  if (!experiment.unobserved || experiment.unobserved->kernel_ns.empty()) {
    throw_input_error("'events' is missing, and so is 'unobserved' with 'kernel_ns'");
  }
  if (experiment.mode == Mode::kCpu || experiment.mode == Mode::kPrefetch) {
    throw_input_error("'events' is missing; without them nobody knows what a '{}' experiment did",
                      kModeTable[static_cast<std::size_t>(experiment.mode)].name);
  }
  add_kernel_times(0, median(experiment.unobserved->kernel_ns), experiment);
}

void parse_known_access(JsonFields& fields, Experiment& experiment, std::set<std::string>& unknown) {
  parse_mode(name_of(fields, "mode"), experiment);
  Allocation allocation;
  allocation.name = "data";
  allocation.bytes = fields.required_integer("bytes", kMaxBytes);
  if (allocation.bytes == 0) throw_input_error("'bytes' is 0; allowed: 1 to {}", kMaxBytes);
  allocation.offset_in_block = fields.required_integer("va_offset_in_2m", kBlockBytes - 1);
  experiment.advice = parse_advice(fields.text("advise"));
  experiment.host_populated = parse_ranges(fields, "host_populated", allocation.bytes);
  experiment.gpu_resident = parse_ranges(fields, "gpu_resident", allocation.bytes);
  if (fields.find("peer_resident") != nullptr) {
    experiment.peer_resident = parse_ranges(fields, "peer_resident", allocation.bytes);
  }
  experiment.touches = parse_touches(fields.require("touches"), allocation.bytes);
  experiment.grid_blocks = grid_in_name(experiment.name);
  experiment.loop_threads = static_cast<std::uint32_t>(fields.integer("loop_threads", experiment.loop_threads, 1024));
  experiment.access_bytes = static_cast<std::uint32_t>(fields.integer("access_bytes", experiment.access_bytes, 16));
  if (experiment.loop_threads == 0 || experiment.access_bytes == 0) {
    throw_input_error("'loop_threads' is {} and 'access_bytes' {}; allowed: 1 to 1024, 1 to 16",
                      experiment.loop_threads, experiment.access_bytes);
  }
  const std::int64_t native = fields.signed_integer("native_ns", 0, 0, kMaxKernelNs);
  experiment.allocations.push_back(std::move(allocation));
  const Json* events = fields.find("events");
  experiment.has_contents = events != nullptr;
  if (events != nullptr) {
    for (const Json& item : json_array(*events, "events")) parse_event(item, false, experiment, unknown);
  } else {
    parse_without_events(experiment);
  }
  for (MeasuredKernel& kernel : experiment.kernels) kernel.native_ns = native;

  const Mode mode = experiment.mode;
  const bool by_touches = mode == Mode::kOrdered || mode == Mode::kParallel;
  const bool by_grid = mode == Mode::kStreamRead || mode == Mode::kStreamWrite || mode == Mode::kVectorAdd;
  if (by_touches && experiment.touches.empty()) throw_input_error("'touches' is empty; this mode needs some");
  if (by_grid && experiment.grid_blocks == 0) {
    throw_input_error("the name '{}' does not say the grid; this mode needs _g<blocks> in it", experiment.name);
  }
  if (mode == Mode::kVectorAdd && experiment.allocations[0].bytes % 3 != 0) {
    throw_input_error("'bytes' is {}; vadd needs three equal parts", experiment.allocations[0].bytes);
  }
  if (mode != Mode::kPrefetch && experiment.kernels.empty()) throw_input_error("'events' has no kernel");
}

}  // namespace

void note_unknown_keys(const JsonFields& fields, std::set<std::string>& unknown, std::string_view what) {
  for (const std::string_view key : fields.unasked()) {
    unknown.insert(fmt::format("{} '{}' is not part of the format and was ignored", what, printable(key)));
  }
}

std::string name_of(JsonFields& fields, std::string_view key) {
  const std::string& name = json_text(fields.require(key), key);
  if (name.empty() || name.size() > kMaxName) {
    throw_input_error("'{}' has {} characters; allowed: 1 to {}", key, name.size(), kMaxName);
  }
  return printable(name);
}

std::size_t word_of(JsonFields& fields, std::string_view key, const std::vector<std::string_view>& allowed) {
  const std::string word = name_of(fields, key);
  const auto found = std::find(allowed.begin(), allowed.end(), word);
  if (found != allowed.end()) return static_cast<std::size_t>(found - allowed.begin());
  throw_input_error("'{}' is '{}'; allowed: {}", key, word, fmt::join(allowed, ", "));
}

std::uint32_t grid_in_name(std::string_view name) {
  for (std::size_t at = name.find("_g"); at != std::string_view::npos; at = name.find("_g", at + 1)) {
    std::uint32_t blocks = 0;
    const char* begin = name.data() + at + 2;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(begin, end, blocks);
    if (error == std::errc() && (stop == end || *stop == '_') && blocks >= 1 && blocks <= kMaxBlocks) return blocks;
  }
  return 0;
}

Experiment parse_experiment(const Json& line, std::set<std::string>& unknown) {
  JsonFields fields(line, "experiment");
  Experiment experiment;
  experiment.name = name_of(fields, "name");
  parse_unobserved(fields, experiment, unknown);
  parse_raw(fields, experiment, unknown);
  if (fields.find("program") != nullptr) {
    parse_campaign(fields, experiment, unknown);
  } else if (fields.find("tensors") != nullptr) {
    parse_library(fields, experiment, unknown);
  } else {
    parse_known_access(fields, experiment, unknown);
  }
  note_unknown_keys(fields, unknown);
  const auto by_start = [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; };
  std::stable_sort(experiment.events.begin(), experiment.events.end(), by_start);
  std::stable_sort(experiment.kernels.begin(), experiment.kernels.end(), by_start);
  return experiment;
}

}  // namespace uvmsim::validate
