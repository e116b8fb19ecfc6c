// SPDX-License-Identifier: Apache-2.0
// Rows of a sweep's tables. A column has a name and a getter that takes its value from the source of a row.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/events/counters.h"
#include "sim/policy/policy_choices.h"

namespace uvmsim::sweep {

using Cell = std::variant<std::monostate, std::int64_t, std::string>;  // absent, a number, a text
using Row = std::vector<Cell>;

struct Column {
  std::string name;
  bool is_text = false;
};

// Converts numbers, texts, true and false; null is absent. A number beyond a database's integers becomes a text.
Cell cell(const nlohmann::ordered_json& value);
Cell cell(std::uint64_t value);

// Returns the policy that a result names for a slot, or the driver's if the result leaves it out.
nlohmann::ordered_json policy_of(const nlohmann::ordered_json& result, policy::Slot slot);
// Formats parameters in the order of the policy or layout, as `uvmsim run --csv`: "threshold=51,min_faults=1".
std::string parameters_text(const nlohmann::ordered_json& parameters);
// Formats a policy with its parameters: "tree:threshold=51,min_faults=1".
std::string chosen_text(const nlohmann::ordered_json& policy);

template <class Source>
using GetterOf = std::function<Cell(const Source&)>;

template <class Source>
struct NamedGetter {
  Column column;
  GetterOf<Source> get;
};
template <class Source>
using ColumnsOf = std::vector<NamedGetter<Source>>;

// A column that converts to a column of any source.
template <class Get>
struct Named {
  std::string name;
  bool is_text;
  Get get;

  template <class Source>
  operator NamedGetter<Source>() && {
    return {{std::move(name), is_text}, std::move(get)};
  }
};
template <class Get>
Named<Get> number(std::string name, Get get) {
  return {std::move(name), false, std::move(get)};
}
template <class Get>
Named<Get> text(std::string name, Get get) {
  return {std::move(name), true, std::move(get)};
}

// Adds columns of numbers that are named as in the result; `get_of(name)` returns the getter of one.
template <class Source, class GetOf>
void add_numbers(ColumnsOf<Source>& columns, std::initializer_list<const char*> names, const GetOf& get_of) {
  for (const char* name : names) {
    // g++ 12 warns of a column destroyed half made if get_of() throws inside the expression below.
    GetterOf<Source> get = get_of(name);
    columns.push_back({{name, false}, std::move(get)});
  }
}

template <class Source>
std::vector<Column> names_of(const ColumnsOf<Source>& columns) {
  std::vector<Column> names;
  for (const auto& column : columns) names.push_back(column.column);
  return names;
}

template <class Source>
Row row_of(const ColumnsOf<Source>& columns, const Source& source) {
  Row row;
  for (const auto& column : columns) row.push_back(column.get(source));
  return row;
}

// Adds every counter of the object that `scope` finds in a source.
template <class Source, class Scope>
void add_counters(ColumnsOf<Source>& columns, const Scope& scope) {
  constexpr Counters kNames;  // only its names matter
  for_each_counter(kNames, [&](const char* name, std::uint64_t) {
    columns.push_back(
        {{name, false}, [scope, name](const Source& source) { return cell(scope(source).at("counters").at(name)); }});
  });
}

template <class Source>
void append(ColumnsOf<Source>& columns, ColumnsOf<Source> more) {
  for (auto& column : more) columns.push_back(std::move(column));
}

}  // namespace uvmsim::sweep
