// SPDX-License-Identifier: Apache-2.0
// Runs operators that a test describes as text: fake_operator(NAME, ARGUMENTS, RESULTS).
//
// Arguments and results are separated by spaces, each USE=VALUE. USE is r (no alias), v (a view), w (written) or o
// (written, and passed by name only). VALUE is a number that is no tensor, ADDRESS/SIZES/STRIDES/ELEMENT of a CUDA
// tensor, the same with /host, or [VALUE;VALUE].
#include <ATen/record_function.h>

#include <sstream>

namespace at {
namespace {
std::optional<RecordFunctionCallback> observer;
}
CallbackHandle addGlobalCallback(RecordFunctionCallback callback) {
  observer = callback;
  return 1;
}
void removeCallback(CallbackHandle) { observer.reset(); }

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::vector<std::int64_t> numbers(const std::string& text) {
  std::vector<std::int64_t> out;
  for (const std::string& part : split(text, ',')) out.push_back(std::stoll(part));
  return out;
}

c10::IValue value_of(const std::string& text) {
  c10::IValue value;
  if (text.front() == '[') {
    value.list.emplace();
    for (const std::string& part : split(text.substr(1, text.size() - 2), ';')) value.list->push_back(value_of(part));
    return value;
  }
  const std::vector<std::string> parts = split(text, '/');
  if (parts.size() < 4) return value;
  value.tensor = Tensor{std::stoull(parts[0], nullptr, 16),
                        numbers(parts[1]),
                        numbers(parts[2]),
                        std::stoull(parts[3]),
                        parts.size() == 4,
                        true};
  return value;
}

void describe(const char* text, std::vector<c10::Argument>& arguments, std::vector<c10::IValue>& values) {
  for (const std::string& part : split(text, ' ')) {
    c10::Argument argument;
    if (part[0] != 'r') argument.alias = c10::AliasInfo{part[0] != 'v'};
    argument.keyword = part[0] == 'o';
    arguments.push_back(argument);
    values.push_back(value_of(part.substr(2)));
  }
}

}  // namespace
}  // namespace at

extern "C" void fake_operator(const char* name, const char* arguments, const char* results) {
  at::RecordFunction function;
  function.schema.called = name;
  function.has_schema = name[0] != '\0';
  at::describe(arguments, function.schema.in, function.in);
  std::vector<c10::IValue> made;
  at::describe(results, function.schema.out, made);
  if (!at::observer) return;
  const auto context = at::observer->start(function);
  function.out = made;
  at::observer->end(function, context.get());
}
