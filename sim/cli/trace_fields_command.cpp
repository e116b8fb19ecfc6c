// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "sim/cli/parameter_text.h"
#include "sim/cli/trace_verb.h"
#include "sim/common/error.h"
#include "sim/formats/wrapped.h"
#include "sim/trace/limits.h"
#include "sim/trace/names.h"
#include "sim/trace/record.h"

namespace uvmsim::cli {
namespace {

constexpr const char* kFieldsUsage = R"(usage: uvmsim trace fields [RECORD] [options]

Lists the keys of every record of a trace in its JSON-lines form (`dump`, `pack`), or of one record type: whether a key
must be there, what it may be, what it means. "always written" keys may be missing in what is read.

Examples:
  uvmsim trace fields
  uvmsim trace fields kernel

)";

struct FieldRow {
  std::string record, key, value, presence, meaning;
};

// Lists the fields of one record type; it visits a record with default values.
class FieldLister {
 public:
  static constexpr bool kConstant = true;

  FieldLister(std::string_view record, std::vector<FieldRow>& rows) : record_(record), rows_(rows) {}

  template <class Integer>
  void number(std::string_view key, Integer, trace::Presence presence, std::string_view meaning) {
    add(key, sizeof(Integer) == 4 ? "0 to 2^32 - 1" : "0 to 2^64 - 1", presence, meaning);
  }
  void stream(std::uint32_t) {
    add("stream", fmt::format("0 to {}", trace::kMaxStream), trace::Presence::kOptional, "");
  }
  void time(std::string_view key, std::int64_t, trace::Presence presence, std::string_view meaning) {
    add(key, "0 to 2^61 nanoseconds", presence, meaning);
  }
  void signed_time(std::string_view key, std::int64_t, std::string_view meaning) {
    add(key, "-2^61 to 2^61 nanoseconds", trace::Presence::kOptional, meaning);
  }
  void device(std::string_view key, std::int32_t, std::int32_t min, trace::Presence presence,
              std::string_view meaning) {
    add(key, fmt::format("{} to {}", min, trace::kMaxDevice), presence, meaning);
  }
  void flag(std::string_view key, bool, bool usual, std::string_view meaning) {
    add(key, fmt::format("true, false; {} when missing", usual), trace::Presence::kOptional, meaning);
  }
  template <class Enum>
  void name(std::string_view key, Enum value, trace::Presence presence, std::string_view meaning) {
    add(key, fmt::format("{}", fmt::join(trace::names_of(value), ", ")), presence, meaning);
  }
  void text(std::string_view key, std::string_view, trace::Presence presence, std::string_view meaning) {
    add(key, "text", presence, meaning);
  }
  void dimensions(std::string_view key, const trace::Dim3&, std::string_view meaning) {
    add(key, "[x, y, z] from 1 on", trace::Presence::kWritten, meaning);
  }
  void place(std::string_view key, std::string_view, const trace::CopyEnd&, std::string_view meaning) {
    add(key, "[object, offset]", trace::Presence::kOptional, meaning);
  }
  template <class List>
  void list(std::string_view key, const List&, trace::Presence presence, std::string_view meaning) {
    add(key, fmt::format("list: {}", trace::kItemForm<typename List::value_type>.text), presence, meaning);
  }
  void end_of_version(const trace::Header&) {}

 private:
  void add(std::string_view key, std::string value, trace::Presence presence, std::string_view meaning) {
    constexpr std::array<std::string_view, 3> kPresence = {"required", "always written", "optional"};
    rows_.push_back({record_, std::string(key), std::move(value),
                     std::string(kPresence.at(static_cast<std::size_t>(presence))), std::string(meaning)});
  }

  std::string record_;
  std::vector<FieldRow>& rows_;
};

template <std::size_t Index = 0>
void list_records(std::vector<FieldRow>& rows) {
  if constexpr (Index < std::variant_size_v<trace::Record>) {
    FieldLister lister(trace::kRecordTypeNames[Index], rows);
    fields(lister, std::variant_alternative_t<Index, trace::Record>{});
    list_records<Index + 1>(rows);
  }
}

std::vector<FieldRow> all_fields() {
  std::vector<FieldRow> rows;
  FieldLister lister("header", rows);
  fields(lister, trace::Header{});
  list_records(rows);
  return rows;
}

// Returns the fields of one record type.
std::vector<FieldRow> fields_of(const std::string& record) {
  std::vector<FieldRow> rows = all_fields();
  std::vector<std::string_view> names = {"header"};
  names.insert(names.end(), trace::kRecordTypeNames.begin(), trace::kRecordTypeNames.end());
  if (std::ranges::find(names, record) == names.end()) {
    throw_input_error("trace fields: unknown record type '{}'{}", printable(record), allowed_hint(record, names));
  }
  std::erase_if(rows, [&record](const FieldRow& row) { return row.record != record; });
  return rows;
}

void print_rows(const std::vector<FieldRow>& rows) {
  std::string_view record;
  for (const FieldRow& row : rows) {
    if (row.record != record) {
      fmt::print("{}{}\n", record.empty() ? "" : "\n", row.record);
      record = row.record;
    }
    fmt::print("{}", wrapped_text(fmt::format("  {:<24}{}; {}{}{}\n", row.key, row.presence, row.value,
                                              row.meaning.empty() ? "" : "; ", row.meaning)));
  }
}

int print_fields(const Values& values) {
  const Arguments& names = values.arguments();
  const std::vector<FieldRow> rows = names.empty() ? all_fields() : fields_of(names.front());
  if (!values.given("json")) {
    print_rows(rows);
    return 0;
  }
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const FieldRow& row : rows) {
    array.push_back({{"record", row.record},
                     {"key", row.key},
                     {"presence", row.presence},
                     {"value", row.value},
                     {"meaning", row.meaning}});
  }
  print_json("fields", std::move(array));
  return 0;
}

}  // namespace

CommandLine trace_fields() {
  return {
      .usage = kFieldsUsage, .options = {kHelp, {"json", "", "print JSON"}}, .most_arguments = 1, .run = print_fields};
}

}  // namespace uvmsim::cli
