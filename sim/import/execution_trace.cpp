// SPDX-License-Identifier: Apache-2.0
#include "sim/import/execution_trace.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/common/error.h"
#include "sim/formats/decimal.h"
#include "sim/formats/json.h"
#include "sim/formats/printable.h"
#include "sim/import/python_literal.h"
#include "sim/import/whole_file.h"
#include "sim/trace/foreign.h"
#include "sim/trace/limits.h"
#include "sim/trace/varint.h"

namespace uvmsim::trace {

namespace {

using NodeJson = nlohmann::json;

constexpr double kLongestUs = 9e15;

// One field of a message of protobuf.
struct WireField {
  std::uint64_t number = 0;
  std::uint64_t value = 0;  // of a varint
  std::string_view bytes;   // of a text or a message
  bool is_bytes = false;
};
// Takes the next field from the front; returns false if the message is damaged.
bool take_wire_field(std::string_view& message, WireField& field) {
  std::uint64_t key = 0;
  if (!take_varint(message, key)) return false;
  field = {};
  field.number = key >> 3;
  std::size_t fixed = 0;
  switch (key & 7) {
    case 0:
      return take_varint(message, field.value);
    case 1:
      fixed = 8;
      break;
    case 5:
      fixed = 4;
      break;
    case 2: {
      std::uint64_t size = 0;
      if (!take_varint(message, size) || size > message.size()) return false;
      field.bytes = message.substr(0, size);
      field.is_bytes = true;
      message.remove_prefix(size);
      return true;
    }
    default:
      return false;
  }
  if (message.size() < fixed) return false;
  message.remove_prefix(fixed);
  return true;
}

class ExecutionTraceReader {
 public:
  explicit ExecutionTraceReader(const std::string& path) : path_(path) {}

  ExecutionTrace read() {
    const std::string content = read_recording(path_, "execution trace of PyTorch or Chakra", "Chakra");
    trace_.file_bytes = content.size();
    if (starts_chakra_trace(content)) {
      messages(content);
    } else {
      json(content);
    }
    if (trace_.nodes.empty()) throw_input_error("{}: no execution trace of PyTorch or Chakra: it has no nodes", path_);
    return std::move(trace_);
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    throw_input_error("{}: node {}: {}", path_, trace_.nodes.size() + 1,
                      fmt::format(format, std::forward<Args>(args)...));
  }

  // Reads JSON. Nodes are read and dropped one by one: reading takes little more memory than the rows that are kept.
  void json(const std::string& content) {
    NodeJson whole;
    try {
      whole = NodeJson::parse(content, [this](int depth, NodeJson::parse_event_t event, NodeJson& value) {
        if (depth > static_cast<int>(kMaxJsonDepth)) throw_input_error("{}: nested too deep", path_);
        if (depth != 2 || event != NodeJson::parse_event_t::object_end || !value.contains("id")) return true;
        json_node(value);
        return false;
      });
    } catch (const NodeJson::exception& error) {
      throw_input_error("{}: is not JSON: {}", path_, printable(error.what()));
    }
    if (whole.is_object()) trace_.schema = printable(text(whole, "schema"));
  }

  static const NodeJson* find(const NodeJson& object, const char* key) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
  }
  static std::string text(const NodeJson& object, const char* key) {
    const NodeJson* value = find(object, key);
    return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
  }
  std::uint64_t natural(const NodeJson& value, const char* key) const {
    if (!value.is_number_unsigned()) refuse("'{}' is no number from 0 on", key);
    return value.get<std::uint64_t>();
  }

  void json_node(const NodeJson& in) {
    ExecutionTrace::Node out;
    out.id = natural(in["id"], "id");
    out.name = text(in, "name");
    const NodeJson* parent = find(in, "ctrl_deps");
    if (parent == nullptr) parent = find(in, "parent");
    if (parent != nullptr && parent->is_array()) parent = parent->empty() ? nullptr : &(*parent)[0];
    if (parent != nullptr && !parent->is_null()) out.parent = natural(*parent, "ctrl_deps");
    out.schema = text(in, "op_schema");
    out.generated = text(in, "kernel_backend") == "triton";
    if (const NodeJson* attributes = find(in, "attrs"); attributes != nullptr && attributes->is_array()) {
      for (const NodeJson& one : *attributes) {
        const std::string name = text(one, "name");
        if (name == "op_schema") out.schema = text(one, "value");
        if (name == "kernel_backend") out.generated = text(one, "value") == "triton";
      }
    }
    if (const std::string kind = text(in, "cat"); !kind.empty()) {
      gpu_work(kind, out);
      if (const NodeJson* stream = find(in, "stream"); stream != nullptr) out.stream = natural(*stream, "stream");
      const NodeJson* time = find(in, "inclusive_dur");
      if (time == nullptr) time = find(in, "dur");
      if (time == nullptr) time = find(in, "exclusive_dur");
      if (time != nullptr) out.duration_ns = duration(*time);
    }
    const auto tensors = [&](const char* group, const char* shapes, const char* types,
                             std::vector<ExecutionTrace::Tensor>& to) {
      const NodeJson* whole = find(in, group);
      if (whole == nullptr) return;
      if (whole->is_object()) {
        operands(find(*whole, "values"), find(*whole, "shapes"), find(*whole, "types"), find(*whole, "strides"), to);
      } else {
        operands(whole, find(in, shapes), find(in, types), nullptr, to);
      }
    };
    tensors("inputs", "input_shapes", "input_types", out.inputs);
    tensors("outputs", "output_shapes", "output_types", out.outputs);
    add(std::move(out));
  }

  std::int64_t duration(const NodeJson& value) const {
    if (!value.is_number()) refuse("a duration is no number");
    const double us = value.get<double>();
    if (!(us >= 0 && us < kLongestUs)) refuse("a duration of {} us", us);
    return static_cast<std::int64_t>(std::llround(us * 1000));
  }

  static void gpu_work(std::string_view kind, ExecutionTrace::Node& out) {
    out.kind = kind == "gpu_memcpy"   ? ExecutionTrace::Kind::kCopy
               : kind == "gpu_memset" ? ExecutionTrace::Kind::kFill
                                      : ExecutionTrace::Kind::kKernel;
  }

  void add(ExecutionTrace::Node node) {
    node.name = is_utf8(node.name) ? node.name : printable(node.name);
    if (node.name.size() > kMaxNameBytes) node.name.resize(utf8_cut(node.name, kMaxNameBytes));
    trace_.on_gpu = trace_.on_gpu || node.kind != ExecutionTrace::Kind::kOperator;
    trace_.nodes.push_back(std::move(node));
  }

  // Reads four lists of the same length: values of arguments, their sizes, types and strides.
  void operands(const NodeJson* values, const NodeJson* shapes, const NodeJson* types, const NodeJson* strides,
                std::vector<ExecutionTrace::Tensor>& out) const {
    if (values == nullptr || !values->is_array()) return;
    for (std::size_t i = 0; i < values->size(); ++i) {
      const NodeJson* type = item(types, i);
      const bool named = type != nullptr && type->is_string() &&
                         type->get_ref<const std::string&>().find("Tensor") != std::string::npos;
      operand((*values)[i], item(shapes, i), item(strides, i), named, static_cast<std::uint32_t>(i), out);
    }
  }
  static const NodeJson* item(const NodeJson* list, std::size_t i) {
    return list != nullptr && list->is_array() && i < list->size() ? &(*list)[i] : nullptr;
  }

  // A tensor is [tensor, storage, offset, elements, bytes of an element, device]; the oldest traces have no device.
  void operand(const NodeJson& value, const NodeJson* shape, const NodeJson* strides, bool named,
               std::uint32_t argument, std::vector<ExecutionTrace::Tensor>& out) const {
    if (!value.is_array()) return;
    const bool numbers = value.size() >= 5 && value[0].is_number() && value[1].is_number() && value[2].is_number() &&
                         value[3].is_number() && value[4].is_number();
    const bool placed = numbers && value.size() == 6 && value[5].is_string();
    if (placed || (named && numbers && value.size() == 5)) return tensor(value, shape, strides, argument, out);
    for (std::size_t i = 0; i < value.size(); ++i) {
      operand(value[i], item(shape, i), item(strides, i), named, argument, out);
    }
  }

  void tensor(const NodeJson& value, const NodeJson* shape, const NodeJson* strides, std::uint32_t argument,
              std::vector<ExecutionTrace::Tensor>& out) const {
    ExecutionTrace::Tensor tensor;
    tensor.argument = argument;
    tensor.storage = natural(value[1], "storage id");
    const std::uint64_t offset = natural(value[2], "offset"), elements = natural(value[3], "number of elements"),
                        element = natural(value[4], "bytes of an element");
    if (elements == 0 || element == 0) return;
    const std::string device = value.size() == 6 ? value[5].get<std::string>() : "cuda:0";
    if (device.starts_with("cuda")) {
      const std::string_view number = std::string_view(device).substr(std::min<std::size_t>(device.size(), 5));
      const std::uint64_t gpu = number.empty() ? 0 : parse_digits(number).value_or(UINT64_MAX);
      if (gpu > kMaxDevice) refuse("device '{}'; allowed: cuda:0 to cuda:{}", printable(device), kMaxDevice);
      tensor.device = static_cast<std::int32_t>(gpu);
    }
    // The size is counted from the first to the last element; tensors without strides are dense.
    double span = static_cast<double>(elements);
    if (shape != nullptr && strides != nullptr && shape->is_array() && strides->is_array() &&
        shape->size() == strides->size()) {
      double last = 0;
      bool known = true;
      for (std::size_t i = 0; i < shape->size(); ++i) {
        known = known && (*shape)[i].is_number_unsigned() && (*strides)[i].is_number_unsigned();
        if (known) last += ((*shape)[i].get<double>() - 1) * (*strides)[i].get<double>();
      }
      if (known && last >= 0) span = last + 1;
    }
    const double end = (static_cast<double>(offset) + span) * static_cast<double>(element);
    if (end > static_cast<double>(kMaxObjectBytes)) {
      refuse("a tensor that ends {:.0f} bytes within its storage; allowed: {}", end, kMaxObjectBytes);
    }
    tensor.offset = offset * element;
    tensor.bytes = static_cast<std::uint64_t>(span) * element;
    out.push_back(tensor);
  }

  // Protobuf.
  [[noreturn]] void damaged() const { refuse("the message is damaged or cut"); }

  void messages(std::string_view rest) {
    for (bool first = true; !rest.empty(); first = false) {
      std::uint64_t size = 0;
      if (!take_varint(rest, size) || size > rest.size()) damaged();
      const std::string_view message = rest.substr(0, size);
      rest.remove_prefix(size);
      if (first) {
        metadata(message);
      } else {
        message_node(message);
      }
    }
  }

  void metadata(std::string_view message) {
    for (WireField field; !message.empty();) {
      if (!take_wire_field(message, field)) damaged();
      if (field.number != 2) continue;
      const Attribute attribute = read_attribute(field.bytes);
      if (attribute.name == "schema") trace_.schema = printable(attribute.text);
    }
  }

  struct Attribute {
    std::string_view name, text;
    std::optional<std::uint64_t> number;
  };
  // An attribute's value has one of many types; the numbers that are needed here are all varints.
  Attribute read_attribute(std::string_view message) const {
    Attribute out;
    for (WireField field; !message.empty();) {
      if (!take_wire_field(message, field)) damaged();
      if (field.number == 1) out.name = field.bytes;
      if (field.number == 29) out.text = field.bytes;
      if (!field.is_bytes) out.number = field.value;
    }
    return out;
  }

  void message_node(std::string_view message) {
    ExecutionTrace::Node out;
    std::string_view inputs, outputs;
    std::optional<std::uint64_t> on_cpu, stream, thread;
    for (WireField field; !message.empty();) {
      if (!take_wire_field(message, field)) damaged();
      switch (field.number) {
        case 1:
          out.id = field.value;
          break;
        case 2:
          out.name = field.bytes;
          break;
        case 4: {  // the first is the parent; a list of numbers is packed into bytes
          std::string_view list = field.bytes;
          if (field.is_bytes && !list.empty() && !take_varint(list, field.value)) damaged();
          if (out.parent == 0) out.parent = field.value;
          break;
        }
        case 7:
          if (field.value > static_cast<std::uint64_t>(kMaxTimeNs) / 1000) refuse("a duration of {} us", field.value);
          out.duration_ns = static_cast<std::int64_t>(field.value * 1000);
          break;
        case 8:
          inputs = field.bytes;
          break;
        case 9:
          outputs = field.bytes;
          break;
        case 10: {
          const Attribute attribute = read_attribute(field.bytes);  // a false value may be left out
          if (attribute.name == "op_schema") out.schema = attribute.text;
          if (attribute.name == "is_cpu_op") on_cpu = attribute.number.value_or(0);
          if (attribute.name == "stream") stream = attribute.number;
          if (attribute.name == "tid") thread = attribute.number;
          break;
        }
        default:
          break;
      }
    }
    if (on_cpu.has_value() && *on_cpu == 0) {
      gpu_work(out.name.starts_with("Memcpy")   ? "gpu_memcpy"
               : out.name.starts_with("Memset") ? "gpu_memset"
                                                : "kernel",
               out);
      out.stream = stream.value_or(thread.value_or(0));  // converters before 2024 wrote streams as threads
    }
    message_operands(inputs, out.inputs);
    message_operands(outputs, out.outputs);
    add(std::move(out));
  }

  // Values, shapes and types are texts printed by Python's str().
  void message_operands(std::string_view message, std::vector<ExecutionTrace::Tensor>& out) const {
    std::array<std::string_view, 3> texts;
    for (WireField field; !message.empty();) {
      if (!take_wire_field(message, field)) damaged();
      if (field.number >= 1 && field.number <= texts.size()) texts[field.number - 1] = field.bytes;
    }
    if (texts[0].find("cuda") == std::string_view::npos && texts[2].find("Tensor") == std::string_view::npos) return;
    std::array<NodeJson, 3> parts;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].empty()) continue;
      try {
        parts[i] = read_python_literal(texts[i]);
      } catch (const InputError& error) {
        refuse("{}", error.what());
      }
    }
    operands(&parts[0], &parts[1], &parts[2], nullptr, out);
  }

  std::string path_;
  ExecutionTrace trace_;
};

}  // namespace

ExecutionTrace read_execution_trace(const std::string& path) { return ExecutionTraceReader(path).read(); }

}  // namespace uvmsim::trace
