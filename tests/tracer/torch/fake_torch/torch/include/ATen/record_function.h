// SPDX-License-Identifier: Apache-2.0
// The parts of ATen that the helper uses, with the same names and types.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace at {
enum class Layout { kStrided, kSparse };
constexpr Layout kStrided = Layout::kStrided;

struct Tensor {
  std::uint64_t address = 0;
  std::vector<std::int64_t> size, stride;
  std::uint64_t element = 4;
  bool cuda = true, is_defined = true;
  bool defined() const { return is_defined; }
  bool is_cuda() const { return cuda; }
  Layout layout() const { return kStrided; }
  bool has_storage() const { return true; }
  std::int64_t numel() const {
    std::int64_t count = 1;
    for (const std::int64_t s : size) count *= s;
    return count;
  }
  const std::vector<std::int64_t>& sizes() const { return size; }
  const std::vector<std::int64_t>& strides() const { return stride; }
  std::uint64_t element_size() const { return element; }
  const void* const_data_ptr() const { return reinterpret_cast<const void*>(address); }
};
}  // namespace at

namespace c10 {
struct AliasInfo {
  bool write = false;
  bool isWrite() const { return write; }
};
struct Argument {
  std::optional<AliasInfo> alias;
  bool keyword = false;
  const AliasInfo* alias_info() const { return alias ? &*alias : nullptr; }
  bool kwarg_only() const { return keyword; }
};
struct FunctionSchema {
  std::string called;
  std::vector<Argument> in, out;
  const std::string& name() const { return called; }
  const std::vector<Argument>& arguments() const { return in; }
  const std::vector<Argument>& returns() const { return out; }
};
struct OperatorName {
  std::string name, overload_name;
};
struct IValue {
  std::optional<at::Tensor> tensor;
  std::optional<std::vector<IValue>> list;
  bool isTensor() const { return tensor.has_value(); }
  const at::Tensor& toTensor() const { return *tensor; }
  bool isList() const { return list.has_value(); }
  const std::vector<IValue>& toListRef() const { return *list; }
};
}  // namespace c10

namespace at {
enum class RecordScope : std::uint8_t { FUNCTION };

struct RecordFunction {
  c10::FunctionSchema schema;
  std::vector<c10::IValue> in, out;
  bool has_schema = true;
  std::optional<c10::OperatorName> operator_name() const {
    if (!has_schema) return std::nullopt;
    return c10::OperatorName{schema.called, ""};
  }
  std::optional<c10::FunctionSchema> operator_schema() const { return schema; }
  const std::vector<c10::IValue>& inputs() const { return in; }
  const std::vector<c10::IValue>& outputs() const { return out; }
};

struct ObserverContext {
  virtual ~ObserverContext() = default;
};

class RecordFunctionCallback {
 public:
  using StartCallback = std::unique_ptr<ObserverContext> (*)(const RecordFunction&);
  using EndCallback = void (*)(const RecordFunction&, ObserverContext*);
  explicit RecordFunctionCallback(StartCallback start, EndCallback end = nullptr) : start(start), end(end) {}
  RecordFunctionCallback& needsInputs(bool) { return *this; }
  RecordFunctionCallback& needsOutputs(bool) { return *this; }
  RecordFunctionCallback& scopes(const std::unordered_set<RecordScope, std::hash<RecordScope>>&) { return *this; }
  StartCallback start;
  EndCallback end;
};
using CallbackHandle = std::uint64_t;
CallbackHandle addGlobalCallback(RecordFunctionCallback callback);
void removeCallback(CallbackHandle handle);
}  // namespace at
