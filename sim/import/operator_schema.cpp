// SPDX-License-Identifier: Apache-2.0
#include "sim/import/operator_schema.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace uvmsim::trace {

namespace {

using std::string_view;

bool is_one_of(string_view name, std::span<const string_view> names) {
  // Older converters number the calls: aten::copy_(1).
  if (name.ends_with(')')) name = name.substr(0, name.rfind('('));
  return std::ranges::find(names, name) != names.end();
}

AccessMode argument_mode(string_view argument) {
  const std::size_t mark = argument.find("!)");
  if (mark == string_view::npos) return AccessMode::kRead;
  const std::size_t space = argument.find(' ', mark);
  if (space == string_view::npos) return AccessMode::kReadWrite;
  return argument.substr(space + 1).starts_with("out") ? AccessMode::kWrite : AccessMode::kReadWrite;
}

}  // namespace

std::vector<AccessMode> argument_modes(string_view schema) {
  std::vector<AccessMode> modes;
  const std::size_t open = schema.find('(');
  if (open == string_view::npos) return modes;
  int depth = 0;
  std::size_t first = open + 1;
  for (std::size_t i = open; i < schema.size(); ++i) {
    const char one = schema[i];
    if (one == '(' || one == '[') ++depth;
    if (one == ')' || one == ']') --depth;
    if (depth != 0 && !(depth == 1 && one == ',')) continue;
    string_view argument = schema.substr(first, i - first);
    argument.remove_prefix(std::min(argument.find_first_not_of(' '), argument.size()));
    if (!argument.empty() && argument != "*") modes.push_back(argument_mode(argument));
    first = i + 1;
    if (depth == 0) break;
  }
  return modes;
}

bool moves_no_data(string_view operator_name) {
  static constexpr std::array kNames = {string_view("aten::empty"),
                                        string_view("aten::empty_like"),
                                        string_view("aten::empty_strided"),
                                        string_view("aten::new_empty"),
                                        string_view("aten::new_empty_strided"),
                                        string_view("aten::empty_permuted"),
                                        string_view("aten::resize_"),
                                        string_view("aten::resize_as_"),
                                        string_view("aten::set_"),
                                        string_view("aten::squeeze_"),
                                        string_view("aten::unsqueeze_"),
                                        string_view("aten::t_"),
                                        string_view("aten::transpose_"),
                                        string_view("aten::as_strided_"),
                                        string_view("aten::detach_"),
                                        string_view("aten::swapaxes_"),
                                        string_view("aten::requires_grad_"),
                                        string_view("aten::record_stream"),
                                        string_view("aten::set_data"),
                                        string_view("aten::rename_")};
  return is_one_of(operator_name, kNames);
}

bool overwrites_its_first(string_view operator_name) {
  static constexpr std::array kNames = {string_view("aten::copy_"),          string_view("aten::fill_"),
                                        string_view("aten::zero_"),          string_view("aten::normal_"),
                                        string_view("aten::uniform_"),       string_view("aten::random_"),
                                        string_view("aten::exponential_"),   string_view("aten::bernoulli_"),
                                        string_view("aten::_foreach_zero_"), string_view("aten::_foreach_copy_")};
  return is_one_of(operator_name, kNames);
}

}  // namespace uvmsim::trace
