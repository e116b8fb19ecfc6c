// SPDX-License-Identifier: Apache-2.0
#include "sim/import/kineto_profile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/common/error.h"
#include "sim/formats/decimal.h"
#include "sim/formats/json.h"
#include "sim/formats/printable.h"
#include "sim/import/whole_file.h"
#include "sim/trace/limits.h"

namespace uvmsim::trace {

namespace {

using KinetoJson = nlohmann::json;

constexpr double kLatestUs = 9e15;
constexpr std::uint64_t kMostTensorBytes = kMaxObjectBytes;

// Returns the bytes of one element of a type as PyTorch names it; 0: not a tensor.
std::uint64_t element_bytes(const std::string& type) {
  struct Known {
    std::string_view name;
    std::uint64_t bytes;
  };
  constexpr std::array kTypes = {Known{"float", 4},
                                 Known{"double", 8},
                                 Known{"c10::Half", 2},
                                 Known{"c10::BFloat16", 2},
                                 Known{"long int", 8},
                                 Known{"long", 8},
                                 Known{"int", 4},
                                 Known{"short int", 2},
                                 Known{"short", 2},
                                 Known{"signed char", 1},
                                 Known{"unsigned char", 1},
                                 Known{"bool", 1},
                                 Known{"c10::complex<float>", 8},
                                 Known{"c10::complex<double>", 16},
                                 Known{"c10::Float8_e4m3fn", 1},
                                 Known{"c10::Float8_e5m2", 1},
                                 Known{"int64_t", 8},
                                 Known{"uint8_t", 1},
                                 Known{"int8_t", 1}};
  for (const Known& known : kTypes) {
    if (type == known.name) return known.bytes;
  }
  return 0;
}

class ProfileReader {
 public:
  explicit ProfileReader(const std::string& path) : path_(path) {}

  KinetoProfile read() {
    const std::string content = read_recording(path_, "profile of PyTorch", "Kineto");
    // Events are read and dropped one by one: reading takes little more memory than the rows that are kept.
    KinetoJson whole;
    try {
      whole = KinetoJson::parse(content, [this](int depth, KinetoJson::parse_event_t event, KinetoJson& value) {
        if (depth > static_cast<int>(kMaxJsonDepth)) throw_input_error("{}: nested too deep", path_);
        if (depth != 2 || event != KinetoJson::parse_event_t::object_end || !value.contains("ph")) return true;
        take(value);
        return false;
      });
    } catch (const KinetoJson::exception& parse_error) {
      throw_input_error("{}: is not JSON: {}", path_, printable(parse_error.what()));
    }
    if (events_ == 0) throw_input_error("{}: no profile of PyTorch: it has no events (traceEvents)", path_);
    finish(whole);
    return std::move(profile_);
  }

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    throw_input_error("{}: event {}: {}", path_, events_, fmt::format(format, std::forward<Args>(args)...));
  }

  static const KinetoJson* find(const KinetoJson& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
  }
  static std::string text(const KinetoJson& object, const char* key) {
    const KinetoJson* value = find(object, key);
    return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
  }
  std::int64_t integer(const KinetoJson& object, const char* key, std::int64_t otherwise, std::int64_t least,
                       std::int64_t most) const {
    const KinetoJson* value = find(object, key);
    if (value == nullptr) return otherwise;
    std::int64_t number = 0;
    if (value->is_number_unsigned() && value->get<std::uint64_t>() <= INT64_MAX) {
      number = static_cast<std::int64_t>(value->get<std::uint64_t>());
    } else if (value->is_number_integer()) {
      number = value->get<std::int64_t>();
    } else {
      return otherwise;
    }
    if (number < least || number > most) refuse("'{}' is {}; allowed: {} to {}", key, number, least, most);
    return number;
  }
  // Converts microseconds, with fractions, to nanoseconds.
  std::int64_t time(const KinetoJson& object, const char* key) const {
    const KinetoJson* value = find(object, key);
    if (value == nullptr || !value->is_number()) refuse("'{}' is no time", key);
    const double us = value->get<double>();
    if (!(us >= 0 && us <= kLatestUs)) refuse("'{}' is {}; allowed: 0 to {}", key, us, kLatestUs);
    return std::llround(us * 1000);
  }
  Dim3 dimensions(const KinetoJson& args, const char* key) const {
    const KinetoJson* list = find(args, key);
    if (list == nullptr || !list->is_array() || list->size() != 3) return {};
    std::array<std::uint32_t, 3> sizes{};
    for (std::size_t i = 0; i < 3; ++i) {
      const KinetoJson& size = (*list)[i];
      if (!size.is_number_unsigned() || size.get<std::uint64_t>() == 0 || size.get<std::uint64_t>() > UINT32_MAX) {
        refuse("'{}' is no size", key);
      }
      sizes[i] = static_cast<std::uint32_t>(size.get<std::uint64_t>());
    }
    return {sizes[0], sizes[1], sizes[2]};
  }

  void take(const KinetoJson& event) {
    ++events_;
    static const KinetoJson kNone = KinetoJson::object();
    const KinetoJson* given = find(event, "args");
    const KinetoJson& args = given != nullptr && given->is_object() ? *given : kNone;
    const std::string phase = text(event, "ph"), kind = text(event, "cat"), name = text(event, "name");
    if (phase == "i" && name == "[memory]") return memory(event, args);
    if (phase != "X") return;
    const std::int64_t start = time(event, "ts"), end = start + time(event, "dur");
    if (kind == "cpu_op") {
      operation(event, args, name, start, end);
    } else if (kind == "user_annotation" && name.starts_with("ProfilerStep#")) {
      profile_.steps.push_back({start, end, parse_digits(std::string_view(name).substr(13)).value_or(0)});
    } else if (kind == "kernel" || kind == "gpu_memcpy" || kind == "gpu_memset") {
      KinetoProfile::Work work;
      work.kind = kind == "kernel"       ? KinetoProfile::Work::Kind::kKernel
                  : kind == "gpu_memcpy" ? KinetoProfile::Work::Kind::kCopy
                                         : KinetoProfile::Work::Kind::kFill;
      work.start = start;
      work.end = end;
      work.name = is_utf8(name) ? name : printable(name);
      work.operation = integer(args, "External id", -1, INT64_MIN, INT64_MAX);
      work.correlation = integer(args, "correlation", -1, INT64_MIN, INT64_MAX);
      work.stream = static_cast<std::uint64_t>(integer(args, "stream", 0, 0, INT64_MAX));
      work.device = static_cast<std::int32_t>(integer(args, "device", 0, 0, kMaxDevice));
      work.bytes =
          static_cast<std::uint64_t>(integer(args, "bytes", 0, 0, static_cast<std::int64_t>(kMostTensorBytes)));
      work.grid = dimensions(args, "grid");
      work.block = dimensions(args, "block");
      work.registers = static_cast<std::uint32_t>(integer(args, "registers per thread", 0, 0, 255));
      work.shared_bytes = static_cast<std::uint32_t>(integer(args, "shared memory", 0, 0, 1 << 24));
      profile_.work.push_back(std::move(work));
    } else if (kind == "cuda_runtime" || kind == "cuda_driver") {
      profile_.calls.push_back({start, end, name, integer(args, "correlation", -1, INT64_MIN, INT64_MAX)});
    }
  }

  void memory(const KinetoJson& event, const KinetoJson& args) {
    if (integer(args, "Device Type", 0, INT32_MIN, INT32_MAX) != 1) return;  // not on a GPU
    const auto most = static_cast<std::int64_t>(kMostTensorBytes);
    const std::int64_t bytes = integer(args, "Bytes", 0, -most, most);
    KinetoProfile::Memory row;
    row.time = time(event, "ts");
    row.thread = integer(event, "tid", 0, INT64_MIN, INT64_MAX);
    row.address = static_cast<std::uint64_t>(integer(args, "Addr", 0, 0, static_cast<std::int64_t>(kMaxAddress) - 1));
    row.free = bytes < 0;
    row.bytes = static_cast<std::uint64_t>(std::abs(bytes));
    row.device = static_cast<std::int32_t>(integer(args, "Device Id", 0, 0, kMaxDevice));
    row.total_bytes = static_cast<std::uint64_t>(integer(args, "Total Allocated", 0, 0, INT64_MAX));
    if (row.address != 0 && bytes != 0) profile_.memory.push_back(row);
  }

  void operation(const KinetoJson& event, const KinetoJson& args, const std::string& name, std::int64_t start,
                 std::int64_t end) {
    KinetoProfile::Operator out{start, end, integer(event, "tid", 0, INT64_MIN, INT64_MAX), name, {}};
    const KinetoJson* dims = find(args, "Input Dims");
    const KinetoJson* types = find(args, "Input type");
    const KinetoJson* strides = find(args, "Input Strides");
    if (dims != nullptr && types != nullptr && dims->is_array() && types->is_array()) {
      profile_.shapes = true;
      for (std::size_t i = 0; i < std::min(dims->size(), types->size()); ++i) {
        const KinetoJson* stride =
            strides != nullptr && strides->is_array() && i < strides->size() ? &(*strides)[i] : nullptr;
        operand((*types)[i], (*dims)[i], stride, out);
      }
    }
    const std::int64_t number = integer(args, "External id", -1, INT64_MIN, INT64_MAX);
    if (number >= 0) numbers_.emplace_back(number, profile_.operators.size());
    profile_.operators.push_back(std::move(out));
  }

  // Adds a tensor, or a list of them: "TensorList" does not name the type of the elements, so four bytes each are
  // assumed.
  void operand(const KinetoJson& type, const KinetoJson& dims, const KinetoJson* strides,
               KinetoProfile::Operator& out) const {
    if (!type.is_string() || !dims.is_array()) return;
    const std::string& name = type.get_ref<const std::string&>();
    const bool list = name == "TensorList" || (!dims.empty() && dims[0].is_array());
    const std::uint64_t bytes = list ? 4 : element_bytes(name);
    if (bytes == 0) return;
    if (!list) {
      tensor(dims, strides, bytes, out);
      return;
    }
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (!dims[i].is_array()) continue;
      const bool has = strides != nullptr && strides->is_array() && i < strides->size();
      tensor(dims[i], has ? &(*strides)[i] : nullptr, bytes, out);
    }
  }
  static void tensor(const KinetoJson& dims, const KinetoJson* strides, std::uint64_t element,
                     KinetoProfile::Operator& out) {
    // The size counts elements from the first to the last one; tensors without strides are dense.
    double elements = 1;
    const bool strided = strides != nullptr && strides->is_array() && strides->size() == dims.size();
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (!dims[i].is_number_unsigned()) return;
      const auto size = static_cast<double>(dims[i].get<std::uint64_t>());
      if (size == 0) return;
      if (!strided) {
        elements *= size;
      } else if ((*strides)[i].is_number_unsigned()) {
        elements += (size - 1) * static_cast<double>((*strides)[i].get<std::uint64_t>());
      }
    }
    const double bytes = elements * static_cast<double>(element);
    if (bytes > static_cast<double>(kMostTensorBytes)) return;
    out.operands.push_back({static_cast<std::uint64_t>(bytes)});
  }

  void finish(const KinetoJson& whole) {
    std::int64_t origin = INT64_MAX;
    const auto first = [&origin](const auto& rows) {
      for (const auto& row : rows) origin = std::min(origin, row.start);
    };
    first(profile_.operators), first(profile_.work), first(profile_.calls), first(profile_.steps);
    for (const auto& row : profile_.memory) origin = std::min(origin, row.time);
    const auto shift = [origin](auto& rows) {
      for (auto& row : rows) row.start -= origin, row.end -= origin;
    };
    shift(profile_.operators), shift(profile_.work), shift(profile_.calls), shift(profile_.steps);
    for (auto& row : profile_.memory) row.time -= origin;
    for (const auto& [number, index] : numbers_) profile_.operator_of.insert_or_assign(number, index);
    const auto by_start = [](const auto& row) { return row.start; };
    std::ranges::stable_sort(profile_.work, {}, by_start);
    std::ranges::stable_sort(profile_.calls, {}, by_start);
    std::ranges::stable_sort(profile_.steps, {}, by_start);
    std::ranges::stable_sort(profile_.memory, {}, [](const auto& row) { return row.time; });
    const KinetoJson* gpus = find(whole, "deviceProperties");
    if (gpus != nullptr && gpus->is_array() && !gpus->empty() && (*gpus)[0].is_object()) {
      profile_.gpu = printable(text((*gpus)[0], "name"));
    }
  }

  std::string path_;
  KinetoProfile profile_;
  std::vector<std::pair<std::int64_t, std::size_t>> numbers_;
  std::uint64_t events_ = 0;
};

}  // namespace

KinetoProfile read_kineto_profile(const std::string& path) { return ProfileReader(path).read(); }

}  // namespace uvmsim::trace
