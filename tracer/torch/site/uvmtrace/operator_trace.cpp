// SPDX-License-Identifier: Apache-2.0
// Reports to the injection library which operators run, and which memory their schemas read and write. _build.py
// compiles this file on the user's machine against PyTorch's headers.
//
// PyTorch's own observers (RecordFunction) are called for every operator on every thread, including autograd's, and
// change nothing. A Python dispatch mode would make autograd accumulate out of place, so that the program would use
// other memory.
#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

enum Mode : std::uint32_t { kRead = 1, kWrite = 2, kReadWrite = 3 };

struct Range {  // struct uvmtrace_tensor
  std::uint64_t va;
  std::uint64_t bytes;
  std::uint32_t mode;
};

struct Calls {
  void (*operator_begin)(const char* name, const Range* tensors, std::uint32_t count);
  void (*operator_outputs)(const Range* tensors, std::uint32_t count);
  void (*operator_end)();
};
Calls calls;

// An operator's use of its arguments, from its schema.
struct Plan {
  std::string name;
  std::vector<Mode> arguments;
  std::vector<bool> makes;  // by result: a new tensor, not an argument or a view of one
  bool silent = false;      // touches no memory
};

Mode mode_of(const c10::Argument& argument) {
  if (argument.alias_info() == nullptr || !argument.alias_info()->isWrite()) return kRead;
  // Arguments named out are only written; those of in-place operators are read as well.
  return argument.kwarg_only() ? kWrite : kReadWrite;
}

Plan make_plan(const at::RecordFunction& function) {
  Plan plan;
  const auto schema = function.operator_schema();
  if (!schema) {
    plan.silent = true;
    return plan;
  }
  plan.name = schema->name();
  bool writes = false;
  for (const c10::Argument& argument : schema->arguments()) {
    plan.arguments.push_back(mode_of(argument));
    writes = writes || plan.arguments.back() != kRead;
  }
  bool views = !schema->returns().empty();
  for (const c10::Argument& result : schema->returns()) {
    plan.makes.push_back(result.alias_info() == nullptr);
    views = views && !plan.makes.back();
  }
  // Operators that create, resize or inspect tensors without touching their elements.
  const auto without_work = {
      "aten::empty",   "aten::new_empty", "profiler::", "aten::_has_compatible_shallow_copy_type",
      "aten::detach_", "aten::resize_",   "aten::set_", "aten::_sparse_coo_tensor_"};
  plan.silent = views && !writes;
  for (const char* prefix : without_work) plan.silent = plan.silent || plan.name.rfind(prefix, 0) == 0;
  return plan;
}

// Returns nullptr for operators that need not be recorded.
const Plan* plan_of(const at::RecordFunction& function) {
  static std::mutex mutex;
  static std::unordered_map<std::string, std::unique_ptr<const Plan>> plans;
  const auto name = function.operator_name();
  if (!name) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  auto& plan = plans[name->name + "." + name->overload_name];
  if (plan == nullptr) plan = std::make_unique<const Plan>(make_plan(function));
  return plan->silent ? nullptr : plan.get();
}

// The bytes between the first and the last element of each CUDA tensor.
class Ranges {
 public:
  void add(const c10::IValue& value, Mode mode) {
    if (value.isTensor()) {
      add(value.toTensor(), mode);
    } else if (value.isList()) {
      for (const c10::IValue& part : value.toListRef()) {
        if (part.isTensor()) add(part.toTensor(), mode);
      }
    }
  }
  bool saw_other_tensors() const { return others_; }
  const std::vector<Range>& found() const { return found_; }

 private:
  void add(const at::Tensor& tensor, Mode mode) {
    if (!tensor.defined()) return;
    try {
      if (!tensor.is_cuda() || tensor.layout() != at::kStrided || !tensor.has_storage()) {
        others_ = true;
        return;
      }
      if (tensor.numel() == 0) return;
      std::int64_t last = 0;
      const auto strides = tensor.strides();
      std::size_t dimension = 0;
      for (const std::int64_t size : tensor.sizes()) last += (size - 1) * strides[dimension++];
      const auto bytes = static_cast<std::uint64_t>(last + 1) * tensor.element_size();
      found_.push_back({reinterpret_cast<std::uint64_t>(tensor.const_data_ptr()), bytes, mode});
    } catch (const std::exception&) {
      others_ = true;  // without memory of its own
    }
  }

  std::vector<Range> found_;
  bool others_ = false;
};

struct Running : at::ObserverContext {
  explicit Running(const Plan& of) : plan(of) {}
  const Plan& plan;
};

std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
  const Plan* plan = plan_of(function);
  if (plan == nullptr) return nullptr;
  Ranges inputs;
  std::size_t i = 0;
  for (const c10::IValue& value : function.inputs()) {
    inputs.add(value, i < plan->arguments.size() ? plan->arguments[i] : kRead);
    ++i;
  }
  if (inputs.found().empty() && inputs.saw_other_tensors()) return nullptr;  // the operator runs on another device
  calls.operator_begin(plan->name.c_str(), inputs.found().data(), static_cast<std::uint32_t>(inputs.found().size()));
  return std::make_unique<Running>(*plan);
}

void end(const at::RecordFunction& function, at::ObserverContext* context) {
  if (context == nullptr) return;
  const Plan& plan = static_cast<Running*>(context)->plan;
  Ranges outputs;
  std::size_t i = 0;
  for (const c10::IValue& value : function.outputs()) {
    if (i < plan.makes.size() && plan.makes[i]) outputs.add(value, kWrite);
    ++i;
  }
  calls.operator_outputs(outputs.found().data(), static_cast<std::uint32_t>(outputs.found().size()));
  calls.operator_end();
}

std::optional<at::CallbackHandle> handle;

}  // namespace

extern "C" {

// `functions` are in the order of Calls. Returns nullptr, or an error.
const char* uvmtrace_torch_observe_operators(void* const* functions, std::uint32_t count) {
  static std::string failure;
  if (count != sizeof(Calls) / sizeof(void*)) return "helper and library do not belong together";
  calls.operator_begin = reinterpret_cast<decltype(calls.operator_begin)>(functions[0]);
  calls.operator_outputs = reinterpret_cast<decltype(calls.operator_outputs)>(functions[1]);
  calls.operator_end = reinterpret_cast<decltype(calls.operator_end)>(functions[2]);
  try {
    handle = at::addGlobalCallback(at::RecordFunctionCallback(&begin, &end)
                                       .needsInputs(true)
                                       .needsOutputs(true)
                                       .scopes({at::RecordScope::FUNCTION}));
  } catch (const std::exception& error) {
    failure = error.what();
    return failure.c_str();
  }
  return nullptr;
}

void uvmtrace_torch_leave_operators() {
  if (handle) at::removeCallback(*handle);
  handle.reset();
}

}  // extern "C"
